// SPDX-License-Identifier: Apache-2.0
// Why: network cameras send pictures as multipart/x-mixed-replace, and most of them a little wrong: boundaries with
// dashes too many, lines without CR, lengths that lie. What is wrong costs a picture, never more.
#include <algorithm>
#include <optional>
#include <string>

#include "camera/stream/parser.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kMaxHeaderBytes = std::size_t{16} * 1024;
constexpr std::size_t kMaxBetween = std::size_t{16} << 20;
constexpr std::size_t kMaxBoundary = 200;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

class MultipartParser final : public StreamParser {
 public:
  explicit MultipartParser(std::string_view boundary) {
    if (boundary.empty()) return;
    delimiter_ = "--" + std::string(boundary);
    // Some servers name the boundary with the dashes that belong before it; others have dashes of their own in it.
    if (boundary.starts_with("--")) or_delimiter_ = boundary;
  }

  Result<Step> feed(std::span<const std::byte> bytes, std::vector<std::byte>& into) override {
    std::size_t at = 0;
    while (at < bytes.size()) {
      const std::span<const std::byte> rest = bytes.subspan(at);
      if (state_ == State::kCounted || state_ == State::kUncounted) {
        at += state_ == State::kCounted ? take_counted(rest, into) : KINGLET_TRY(take_uncounted(rest, into));
        if (!std::exchange(part_over_, false)) continue;
        if (wanted_ && !into.empty()) return Step{at, true};
        into.clear();
        continue;
      }
      ++at;
      KINGLET_TRY(take_line_byte(static_cast<char>(rest.front())));
    }
    return Step{at, false};
  }

  Result<FrameView> view(std::span<const std::byte> frame) const override { return jpeg_view(frame); }

 private:
  // kBetween: lines before a boundary. kHeaders: of a part. Then its body, with a length or without one.
  enum class State { kBetween, kHeaders, kCounted, kUncounted };

  Result<void> take_line_byte(char c) {
    if (c != '\n') {
      // What is longer is no boundary; a header is refused below.
      if (line_.size() < kMaxLine) line_ += c;
      ++seen_;
      if (state_ == State::kHeaders && seen_ > kMaxHeaderBytes) {
        return fail(ErrorCode::kBadData, "multipart stream: headers of a part without an end");
      }
      if (state_ == State::kBetween && seen_ > kMaxBetween) {
        return fail(ErrorCode::kBadData,
                    format_text("multipart stream: no boundary \"{}\" in {} bytes", printable(delimiter_, 80), seen_));
      }
      return {};
    }
    const std::string_view line = trimmed(line_);
    if (state_ == State::kHeaders) {
      take_header(line);
    } else if (is_boundary(line)) {
      begin_part();
    }
    line_.clear();
    return {};
  }

  bool is_boundary(std::string_view line) {
    if (delimiter_.empty() && line.size() > 2 && line.size() <= kMaxBoundary && line.starts_with("--")) {
      delimiter_ = line;
    }
    // The first one that comes shows which it is.
    if (!or_delimiter_.empty() && line == or_delimiter_) delimiter_ = or_delimiter_;
    if (delimiter_.empty() || line != delimiter_) return false;
    or_delimiter_.clear();
    return true;
  }

  void begin_part() {
    state_ = State::kHeaders;
    seen_ = 0;
    wanted_ = true;
    length_.reset();
    length_counts_ = true;
  }

  void take_header(std::string_view line) {
    if (line.empty()) {
      seen_ = 0;
      const bool counted = length_ && length_counts_ && *length_ <= kMaxStreamFrame;
      state_ = counted ? State::kCounted : State::kUncounted;
      left_ = counted ? *length_ : 0;
      if (counted && left_ == 0) state_ = State::kBetween;
      return;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view name = trimmed(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (same_word(name, "Content-Length")) {
      const auto length = parse_number<std::size_t>(value);
      // Two lengths that differ are none.
      length_counts_ = length_counts_ && length && (!length_ || length_ == length);
      length_ = length.value_or(0);
    } else if (same_word(name, "Content-Type")) {
      const std::string_view type = trimmed(value.substr(0, value.find(';')));
      wanted_ = same_word(type, "image/jpeg") || same_word(type, "image/jpg") || same_word(type, "image/pjpeg");
    }
  }

  std::size_t take_counted(std::span<const std::byte> bytes, std::vector<std::byte>& into) {
    const std::size_t count = std::min(left_, bytes.size());
    if (wanted_) into.insert(into.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    left_ -= count;
    if (left_ == 0) end_part();
    return count;
  }

  // Up to the boundary that follows a line's end, of which `into` may hold the first half already.
  Result<std::size_t> take_uncounted(std::span<const std::byte> bytes, std::vector<std::byte>& into) {
    const std::string mark = "\n" + delimiter_;
    const std::size_t before = into.size();
    // In steps: a part is over long before the end of what came with it.
    const std::size_t count = std::min(bytes.size(), std::size_t{16} * 1024);
    into.insert(into.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    const std::string_view text(reinterpret_cast<const char*>(into.data()), into.size());
    const std::size_t place = text.find(mark, before - std::min(before, mark.size() - 1));
    if (place == std::string_view::npos) {
      if (into.size() <= kMaxStreamFrame) return count;
      return fail(ErrorCode::kBadData, format_text("multipart stream: a part of more than {} bytes", kMaxStreamFrame));
    }
    const std::size_t consumed = place + mark.size() - before;
    const bool carriage = place > 0 && text[place - 1] == '\r';
    into.resize(carriage ? place - 1 : place);
    end_part();
    line_ = delimiter_;
    return consumed;
  }

  void end_part() {
    state_ = State::kBetween;
    seen_ = 0;
    line_.clear();
    part_over_ = true;
  }

  std::string delimiter_;     // with its dashes; empty: not known yet
  std::string or_delimiter_;  // may be it as well, until one of both has come
  State state_ = State::kBetween;
  std::string line_;      // so far
  std::size_t seen_ = 0;  // bytes of the state
  bool wanted_ = true;
  bool part_over_ = false;
  std::optional<std::size_t> length_;
  bool length_counts_ = true;
  std::size_t left_ = 0;
};

}  // namespace

std::unique_ptr<StreamParser> make_multipart_parser(std::string_view boundary) {
  return std::make_unique<MultipartParser>(boundary.substr(0, kMaxBoundary));
}

std::string_view boundary_of(std::string_view content_type) {
  constexpr std::string_view kName = "boundary=";
  while (!content_type.empty()) {
    const std::string_view parameter = trimmed(content_type.substr(0, content_type.find(';')));
    content_type.remove_prefix(std::min(content_type.size(), content_type.find(';')));
    if (!content_type.empty()) content_type.remove_prefix(1);
    if (parameter.size() <= kName.size() || !same_word(parameter.substr(0, kName.size()), kName)) continue;
    std::string_view value = trimmed(parameter.substr(kName.size()));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    return value;
  }
  return {};
}

}  // namespace kinglet::camera
