// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/clips/clip_file.h"

#include <charconv>
#include <memory>
#include <utility>

#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kBegin = "--kinglet\r\nContent-Type: image/jpeg\r\nContent-Length: ";
constexpr std::string_view kTime = "\r\nX-Timestamp: ";
constexpr std::string_view kHeadersEnd = "\r\n\r\n";
constexpr std::string_view kPartEnd = "\r\n";
constexpr std::string_view kEnd = "--kinglet--\r\n";

// The digits at the begin of `text`, taken off.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

}  // namespace

store::SharedBytes make_clip(const ClipFrames& frames) {
  store::SharedBytes clip;
  if (frames.empty()) return clip;
  const auto say = [&](std::string text) { clip.add(std::make_shared<const std::string>(std::move(text))); };
  std::string_view end_before;
  for (const auto& frame : frames) {
    const auto passed = std::chrono::duration_cast<WallTime::duration>(frame->at - frames.front()->at);
    const auto at = std::chrono::floor<milliseconds>(frames.front()->wall + passed).time_since_epoch();
    say(format_text("{}{}{}{}{}.{:03}{}", end_before, kBegin, frame->jpeg.size(), kTime, at.count() / 1000,
                    at.count() % 1000, kHeadersEnd));
    clip.add(store::SharedBytes::Piece(frame, &frame->jpeg));
    end_before = kPartEnd;
  }
  say(format_text("{}{}", kPartEnd, kEnd));
  return clip;
}

std::optional<ClipPart> take_part(std::string_view& clip) {
  constexpr std::uint64_t kLatest = 1'000'000'000'000;
  std::string_view rest = clip;
  if (!take(rest, kBegin)) return std::nullopt;
  const auto size = take_number(rest);
  if (!size || !take(rest, kTime)) return std::nullopt;
  const auto seconds = take_number(rest);
  if (!seconds || *seconds > kLatest || !take(rest, ".")) return std::nullopt;
  const auto thousandths = take_number(rest);
  if (!thousandths || *thousandths > 999 || !take(rest, kHeadersEnd)) return std::nullopt;
  if (*size > rest.size()) return std::nullopt;
  const std::string_view jpeg = rest.substr(0, static_cast<std::size_t>(*size));
  rest.remove_prefix(static_cast<std::size_t>(*size));
  if (!take(rest, kPartEnd)) return std::nullopt;
  if (rest == kEnd) rest = {};
  ClipPart part{.bytes = clip.substr(0, clip.size() - rest.size()),
                .jpeg = jpeg,
                .at = milliseconds(static_cast<std::int64_t>(*seconds * 1000 + *thousandths))};
  clip = rest;
  return part;
}

}  // namespace kinglet::daemon
