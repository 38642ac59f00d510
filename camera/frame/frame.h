// SPDX-License-Identifier: Apache-2.0
// Why: one picture on its way from a source to the model: pixels that are leased, never copied.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace kinglet::camera {

// Names as libcamera has them, except that kRgb888 means R,G,B bytes in memory (libcamera's BGR888).
enum class PixelFormat : std::uint8_t { kRgb888, kNv12, kYuv420, kYuyv, kMjpeg };

// Matrix and range of YCbCr formats; ignored for kRgb888. kMjpeg is full range BT.601 by its standard (JFIF).
enum class ColorMatrix : std::uint8_t { kBt601, kBt709 };
enum class ColorRange : std::uint8_t { kFull, kLimited };

[[nodiscard]] std::string_view to_string(PixelFormat format);

struct ImageSize {
  int width = 0;
  int height = 0;
};

// One plane: rows are `stride` bytes apart; `bytes` ends after the last row's last pixel or later.
struct Plane {
  std::span<const std::byte> bytes;
  std::size_t stride = 0;
};

// What a reader sees. Sizes in pixels; 4:2:0 formats have even sizes. kMjpeg: one plane with the JPEG, stride 0.
struct FrameView {
  PixelFormat format = PixelFormat::kRgb888;
  int width = 0;
  int height = 0;
  ColorMatrix matrix = ColorMatrix::kBt601;
  ColorRange range = ColorRange::kFull;
  std::array<Plane, 3> planes;
  int plane_count = 0;
};

// kBadData when sides, planes and strides do not fit the format, naming them. Everything that reads pixels asks first.
[[nodiscard]] Result<void> check_view(const FrameView& view);

struct FrameInfo {
  std::uint64_t sequence = 0;  // starts at 0 with each start of the source, grows, may jump (jumps are drops)
  SteadyTime captured_at{};    // exposure where the camera tells, else arrival
  WallTime captured_wall{};
  bool still = false;  // somebody chose to show it: it is looked at whether it moves or not
  bool drawn = false;  // by kinglet itself: what it shows was never there
};

// A lease on a buffer: pixels stay valid until the Frame is destroyed, which gives the buffer back (from whichever
// thread that happens on: the release function is thread-safe). Move-only.
class Frame {
 public:
  using Release = std::move_only_function<void()>;

  Frame() = default;
  Frame(FrameView view, FrameInfo info, Release release) : Frame(view, view, info, std::move(release)) {}
  Frame(FrameView view, FrameView small, FrameInfo info, Release release)
      : view_(view), small_(small), info_(info), release_(std::move(release)) {}
  Frame(Frame&& other) noexcept { swap(other); }
  Frame& operator=(Frame&& other) noexcept {
    Frame(std::move(other)).swap(*this);
    return *this;
  }
  ~Frame() {
    if (release_) release_();
  }

  [[nodiscard]] const FrameView& view() const { return view_; }
  // All of the same picture in fewer pixels, where its source has them: a camera that scales, a photograph (RGB then);
  // else view().
  [[nodiscard]] const FrameView& small() const { return small_; }
  [[nodiscard]] const FrameInfo& info() const { return info_; }

  void swap(Frame& other) noexcept {
    std::swap(view_, other.view_);
    std::swap(small_, other.small_);
    std::swap(info_, other.info_);
    std::swap(release_, other.release_);
  }

 private:
  FrameView view_;
  FrameView small_;
  FrameInfo info_;
  Release release_;
};

// An owned RGB picture (decoded stills, drawn scenes).
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::byte> rgb;  // R,G,B rows without padding

  [[nodiscard]] FrameView view() const;  // valid while the image lives and is not changed
};

}  // namespace kinglet::camera
