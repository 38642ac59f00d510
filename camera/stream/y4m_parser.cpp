// SPDX-License-Identifier: Apache-2.0
// Why: YUV4MPEG2, the one raw form in which a program tells the size of its frames:
//   "YUV4MPEG2 W640 H480 F25:1 C420jpeg XCOLORRANGE=FULL\n", then for each frame "FRAME\n" and its planes.
#include <algorithm>
#include <string>

#include "camera/frame/packed_frame.h"
#include "camera/stream/parser.h"
#include "camera/stream/video_color.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

constexpr std::size_t kMaxLine = 1024;
constexpr std::string_view kStreamWord = "YUV4MPEG2";
constexpr std::string_view kFrameWord = "FRAME";

bool begins_with_word(std::string_view line, std::string_view word) {
  return line.starts_with(word) && (line.size() == word.size() || line[word.size()] == ' ');
}

std::unexpected<Error> bad(std::string message, std::string hint = {}) {
  return fail(ErrorCode::kBadData, "YUV4MPEG2: " + std::move(message), {}, std::move(hint));
}

Result<int> side(std::string_view text) {
  const auto value = parse_number<int>(text);
  if (value && *value >= 2 && *value <= 16'384 && *value % 2 == 0) return *value;
  return bad(format_text("a side of \"{}\" pixels, expected an even number from 2 to 16384", printable(text, 20)));
}

class Y4mParser final : public StreamParser {
 public:
  explicit Y4mParser(const ColorWish& color) : color_(color) {}

  Result<Step> feed(std::span<const std::byte> bytes, std::vector<std::byte>& into) override {
    std::size_t at = 0;
    while (at < bytes.size()) {
      if (in_frame_) {
        const std::size_t count = std::min(bytes.size() - at, size_ - into.size());
        const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        into.insert(into.end(), first, first + static_cast<std::ptrdiff_t>(count));
        at += count;
        if (into.size() < size_) break;
        in_frame_ = false;
        return Step{at, true};
      }
      const char c = static_cast<char>(bytes[at++]);
      if (c != '\n') {
        line_ += c;
        if (line_.size() > kMaxLine) return bad("a header line without an end");
        continue;
      }
      KINGLET_TRY(take_line());
      line_.clear();
      if (in_frame_) into.reserve(size_);
    }
    return Step{at, false};
  }

  std::size_t leave_rest(std::vector<std::byte>& into) override {
    if (!in_frame_) return 0;
    in_frame_ = false;
    const std::size_t rest = size_ - into.size();
    into.clear();
    return rest;
  }

  Result<FrameView> view(std::span<const std::byte> frame) const override { return packed_view(shape_, frame); }

 private:
  Result<void> take_line() {
    if (begins_with_word(line_, kStreamWord)) return take_stream_header();
    if (size_ > 0 && begins_with_word(line_, kFrameWord)) {
      in_frame_ = true;
      return {};
    }
    return bad(format_text("\"{}\" where a {} was expected", printable(line_, 40), size_ > 0 ? "frame" : "header"),
               size_ > 0 ? "" : "let the program write YUV4MPEG2 (ffmpeg: -f yuv4mpegpipe), or name its ?format=");
  }

  Result<void> take_stream_header() {
    FrameView shape{.format = PixelFormat::kYuv420, .width = 0, .height = 0};
    std::string_view chroma = "420";
    ColorWish color = color_;
    std::string_view rest = std::string_view(line_).substr(kStreamWord.size());
    while (!rest.empty()) {
      rest.remove_prefix(1);
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(word.size());
      if (word.starts_with('W')) shape.width = KINGLET_TRY(side(word.substr(1)));
      if (word.starts_with('H')) shape.height = KINGLET_TRY(side(word.substr(1)));
      if (word.starts_with('C')) chroma = word.substr(1);
      if (word == "XCOLORRANGE=FULL" && !color.range) color.range = ColorRange::kFull;
    }
    if (shape.width == 0 || shape.height == 0) return bad("the header names no size");
    if (chroma != "420" && chroma != "420jpeg" && chroma != "420mpeg2" && chroma != "420paldv") {
      return bad(format_text("pixels of kind \"{}\", expected 4:2:0 of 8 bits", printable(chroma, 20)),
                 "ffmpeg: -pix_fmt yuv420p");
    }
    set_color(shape, color);
    if (packed_size(shape) > kMaxRawFrame) {
      return bad(format_text("a frame of {}x{} pixels is {} MiB; the limit is {} MiB", shape.width, shape.height,
                             packed_size(shape) >> 20, kMaxRawFrame >> 20),
                 "let the program scale it down");
    }
    shape_ = shape;
    size_ = packed_size(shape);
    return {};
  }

  const ColorWish color_;
  FrameView shape_;
  std::size_t size_ = 0;  // of a frame; 0: no header yet
  bool in_frame_ = false;
  std::string line_;
};

}  // namespace

std::unique_ptr<StreamParser> make_y4m_parser(const ColorWish& color) { return std::make_unique<Y4mParser>(color); }

}  // namespace kinglet::camera
