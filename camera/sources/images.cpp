// SPDX-License-Identifier: Apache-2.0
// Why: "images:DIR": the pictures of a folder as if a camera sent them, in the order of their names.
#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "camera/decode/decode.h"
#include "camera/source/spec.h"
#include "camera/sources/paced_source.h"
#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{64} << 20;
constexpr DecodeLimits kLimits{.max_pixels = 64'000'000, .max_side = 16'384};

// By the first bytes; files that only call themselves pictures count too, so that they are reported.
bool may_be_picture(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  if (extension == ".jpg" || extension == ".jpeg" || extension == ".png") return true;
  std::array<std::byte, 4> head{};
  const auto file = InputFile::open(path);
  if (!file || !file->read_at(0, head)) return false;
  constexpr std::array kJpeg{std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}};
  constexpr std::array kPng{std::byte{0x89}, std::byte{'P'}, std::byte{'N'}, std::byte{'G'}};
  return std::ranges::equal(std::span(head).first(3), kJpeg) || std::ranges::equal(head, kPng);
}

class ImagesSource final : public PacedSource {
 public:
  ImagesSource(fs::path folder, SteadyClock::duration period, Repeat repeat, LogSink log)
      : PacedSource(period, Late::kDelay), folder_(std::move(folder)), repeat_(repeat), log_(std::move(log)) {}

  [[nodiscard]] std::string description() const override {
    return format_text("pictures of {}{}, each looked at, whether it moves or not", printable(folder_.string()),
                       repeat_ == Repeat::kOnce ? ", once" : "");
  }

 protected:
  [[nodiscard]] Result<void> rewind() override {
    files_.clear();
    bad_count_ = 0;
    at_ = 0;
    std::error_code error;
    fs::directory_iterator entries(folder_, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      const fs::path& path = entries->path();
      std::error_code ignored;
      if (path.filename().string().starts_with('.') || !entries->is_regular_file(ignored)) continue;
      if (may_be_picture(path)) files_.push_back({path, false});
    }
    if (error) {
      return fail(ErrorCode::kNotFound, "folder of pictures cannot be read: " + error.message(),
                  printable(folder_.string()), "name a folder: images:/path/to/folder");
    }
    if (files_.empty()) {
      return fail(ErrorCode::kNotFound, "no JPEG or PNG picture in the folder", printable(folder_.string()),
                  "put pictures there, or name another folder");
    }
    std::ranges::sort(files_, {}, &File::path);
    return {};
  }

  [[nodiscard]] Result<Drawn> draw(std::uint64_t /*sequence*/, Image& image) override {
    if (at_ == files_.size()) {
      if (repeat_ == Repeat::kOnce) return Drawn::kEnd;
      at_ = 0;
    }
    if (bad_count_ == files_.size()) {
      return fail(ErrorCode::kBadData, "none of the pictures can be decoded", printable(folder_.string()));
    }
    File& file = files_[at_++];
    if (file.bad) return Drawn::kNothing;
    Result<Image> decoded = decode_file(file.path);
    if (!decoded) {
      file.bad = true;
      ++bad_count_;
      count_dropped(1);
      if (log_) log_(LogLevel::kWarning, "picture skipped: " + describe(decoded.error()));
      return Drawn::kNothing;
    }
    image = *std::move(decoded);
    return Drawn::kFrame;
  }

 private:
  struct File {
    fs::path path;
    bool bad;
  };

  static Result<Image> decode_file(const fs::path& path) {
    const std::string name = printable(path.string());
    const std::string text = KINGLET_TRY(read_file(path, kMaxFileBytes));
    Result<DecodedImage> decoded = decode_image(std::as_bytes(std::span(text)), kLimits, Upright::kApplyExif);
    if (!decoded) return std::unexpected(with_context(std::move(decoded).error(), name));
    return std::move(decoded->image);
  }

  const fs::path folder_;
  const Repeat repeat_;
  const LogSink log_;
  std::vector<File> files_;
  std::size_t at_ = 0;
  std::size_t bad_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<FrameSource>> open_images(std::string_view rest, const SourceOptions& options) {
  const Playback playback = KINGLET_TRY(parse_playback("images", "folder", rest, options));
  const SteadyClock::duration period = playback.period ? *playback.period : KINGLET_TRY(period_of({}, options));
  return std::make_unique<ImagesSource>(fs::path(playback.path), period, playback.repeat, options.log);
}

}  // namespace kinglet::camera
