// SPDX-License-Identifier: Apache-2.0
// Why: frames of one size without anything between them, as rawvideo of ffmpeg and rpicam-vid's yuv420 are. A size that
// is not the writer's cannot be seen in the bytes: whoever opens such a stream has to know it.
#include <algorithm>

#include "camera/frame/packed_frame.h"
#include "camera/stream/parser.h"
#include "camera/stream/video_color.h"
#include "engine/base/format.h"

namespace kinglet::camera {
namespace {

class RawParser final : public StreamParser {
 public:
  RawParser(const FrameView& shape, std::size_t size) : shape_(shape), size_(size) {}

  Result<Step> feed(std::span<const std::byte> bytes, std::vector<std::byte>& into) override {
    into.reserve(size_);
    const std::size_t count = std::min(bytes.size(), size_ - into.size());
    into.insert(into.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    return Step{count, into.size() == size_};
  }

  std::size_t leave_rest(std::vector<std::byte>& into) override {
    if (into.empty()) return 0;
    const std::size_t rest = size_ - into.size();
    into.clear();
    return rest;
  }

  Result<FrameView> view(std::span<const std::byte> frame) const override { return packed_view(shape_, frame); }

 private:
  const FrameView shape_;
  const std::size_t size_;
};

}  // namespace

Result<std::unique_ptr<StreamParser>> make_raw_parser(PixelFormat format, int width, int height,
                                                      const ColorWish& color) {
  FrameView shape{.format = format, .width = width, .height = height};
  set_color(shape, color);
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorCode::kUsage, format_text("raw frames of {} {}x{}: {}", to_string(format), width, height, what));
  };
  if (format == PixelFormat::kMjpeg) return wrong("JPEGs have no fixed size");
  if (width < 2 || height < 2 || width > 16'384 || height > 16'384) return wrong("sides must be 2 to 16384");
  if (format != PixelFormat::kRgb888 && (width % 2 != 0 || height % 2 != 0)) return wrong("sides must be even");
  const std::uint64_t size = packed_size(shape);
  if (size > kMaxRawFrame) {
    return wrong(format_text("{} MiB a frame; the limit is {} MiB (yuv420p takes half of rgb24)", size >> 20,
                             kMaxRawFrame >> 20));
  }
  return std::make_unique<RawParser>(shape, size);
}

}  // namespace kinglet::camera
