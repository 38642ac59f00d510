// SPDX-License-Identifier: Apache-2.0
// Why: where a JPEG in a stream ends. Its segments are stepped over by their length (ITU-T T.81, annex B), because the
// small picture that cameras put into them ends with the same two bytes as the whole.
#include <algorithm>
#include <cstring>

#include "camera/decode/decode.h"
#include "camera/stream/parser.h"
#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

constexpr std::byte kMark{0xFF};
constexpr std::byte kStart{0xD8};
constexpr std::byte kEnd{0xD9};
constexpr std::byte kScan{0xDA};
// Bytes that belong to no picture before the stream is given up.
constexpr std::size_t kMaxBetween = std::size_t{16} << 20;
constexpr DecodeLimits kFrameLimits{.max_pixels = 64'000'000, .max_side = 65'535};

// Markers without a segment: TEM and the restarts.
bool stands_alone(std::byte marker) {
  return marker == std::byte{0x01} || (marker >= std::byte{0xD0} && marker <= std::byte{0xD7});
}

class MjpegParser final : public StreamParser {
 public:
  Result<Step> feed(std::span<const std::byte> bytes, std::vector<std::byte>& into) override {
    std::size_t at = 0;
    while (at < bytes.size()) {
      const std::span<const std::byte> rest = bytes.subspan(at);
      const std::size_t taken = inside_ ? take(rest, into) : KINGLET_TRY(skip(rest, into));
      at += taken;
      if (into.size() > kMaxStreamFrame) {
        return fail(ErrorCode::kBadData, format_text("a JPEG of more than {} bytes", kMaxStreamFrame));
      }
      if (inside_ && state_ == State::kDone) {
        inside_ = false;
        between_ = 0;
        return Step{at, true};
      }
    }
    return Step{at, false};
  }

  Result<FrameView> view(std::span<const std::byte> frame) const override { return jpeg_view(frame); }

 private:
  // kMarker: 0xFF was seen. kScanMarker: the same inside of a scan's data. kLength: its two bytes. kSegment: bytes
  // that are stepped over.
  enum class State { kSegments, kMarker, kLengthHigh, kLengthLow, kSegment, kScanData, kScanMarker, kDone };

  // Up to a picture's first two bytes.
  Result<std::size_t> skip(std::span<const std::byte> bytes, std::vector<std::byte>& into) {
    std::size_t at = 0;
    while (at < bytes.size()) {
      if (half_start_) {
        half_start_ = bytes[at] == kMark;
        if (bytes[at++] != kStart) continue;
        half_start_ = false;
        inside_ = true;
        state_ = State::kSegments;
        into.assign({kMark, kStart});
        return at;
      }
      const auto found = std::ranges::find(bytes.subspan(at), kMark);
      const auto skipped = static_cast<std::size_t>(found - bytes.subspan(at).begin());
      between_ += skipped;
      at += skipped;
      if (at < bytes.size()) {
        half_start_ = true;
        ++at;
      }
    }
    if (between_ > kMaxBetween) {
      return fail(ErrorCode::kBadData, format_text("no JPEG in {} bytes of the stream", between_));
    }
    return at;
  }

  // Of the picture, in steps that end where the state changes.
  std::size_t take(std::span<const std::byte> bytes, std::vector<std::byte>& into) {
    std::size_t count = 1;
    const std::byte first = bytes.front();
    if (first == kStart && (state_ == State::kMarker || state_ == State::kScanMarker)) {
      // The last picture was cut off and this is a new one: segments, where a small one may stand, are stepped over.
      state_ = State::kSegments;
      into.assign({kMark, kStart});
      return count;
    }
    switch (state_) {
      case State::kSegments:
        // Anything else than a marker here is damage; the picture ends at its last marker all the same.
        if (first == kMark) state_ = State::kMarker;
        break;
      case State::kMarker:
        on_marker(first);
        break;
      case State::kLengthHigh:
        length_ = std::to_integer<std::size_t>(first) << 8;
        state_ = State::kLengthLow;
        break;
      case State::kLengthLow:
        length_ |= std::to_integer<std::size_t>(first);
        length_ = length_ > 2 ? length_ - 2 : 0;
        after_segment();
        break;
      case State::kSegment:
        count = std::min(length_, bytes.size());
        length_ -= count;
        after_segment();
        break;
      case State::kScanData: {
        const void* found = std::memchr(bytes.data(), std::to_integer<int>(kMark), bytes.size());
        count = found == nullptr ? bytes.size()
                                 : static_cast<std::size_t>(static_cast<const std::byte*>(found) - bytes.data()) + 1;
        if (found != nullptr) state_ = State::kScanMarker;
        break;
      }
      case State::kScanMarker:
        if (first == std::byte{0x00} || stands_alone(first)) {
          state_ = State::kScanData;
        } else {
          on_marker(first);
        }
        break;
      case State::kDone:
        count = 0;
        break;
    }
    into.insert(into.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  void on_marker(std::byte marker) {
    if (marker == kMark) return;  // fill bytes
    if (marker == kEnd) {
      state_ = State::kDone;
    } else if (stands_alone(marker) || marker == std::byte{0x00}) {
      state_ = State::kSegments;
    } else {
      scan_ = marker == kScan;
      state_ = State::kLengthHigh;
    }
  }

  void after_segment() {
    if (length_ > 0) {
      state_ = State::kSegment;
    } else {
      state_ = scan_ ? State::kScanData : State::kSegments;
    }
  }

  bool inside_ = false;
  bool half_start_ = false;
  bool scan_ = false;
  State state_ = State::kSegments;
  std::size_t length_ = 0;
  std::size_t between_ = 0;
};

}  // namespace

std::unique_ptr<StreamParser> make_mjpeg_parser() { return std::make_unique<MjpegParser>(); }

Result<FrameView> jpeg_view(std::span<const std::byte> bytes) {
  if (bytes.size() < 4 || bytes[0] != kMark || bytes[1] != kStart) {
    return fail(ErrorCode::kBadData, "a picture of the stream is no JPEG");
  }
  const ImageSize size = KINGLET_TRY(read_image_size(bytes, kFrameLimits));
  FrameView view{.format = PixelFormat::kMjpeg, .width = size.width, .height = size.height};
  view.range = ColorRange::kFull;
  view.planes[0] = {bytes, 0};
  view.plane_count = 1;
  KINGLET_TRY(check_view(view));
  return view;
}

}  // namespace kinglet::camera
