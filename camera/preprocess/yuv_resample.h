// SPDX-License-Identifier: Apache-2.0
// Why: a video frame to rows of RGB at the model's size in one pass: each channel is cropped and scaled where it lies,
// and only then, at output size, turned into RGB by matrix and range. (Both steps are linear, so the order changes
// nothing but rounding.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "camera/frame/frame.h"
#include "camera/preprocess/geometry.h"
#include "camera/preprocess/resample/plane_reduce.h"
#include "camera/preprocess/resample/plane_resample.h"

namespace kinglet::camera {

// --- A row at output size, in integers so that machines agree: SSE2 and NEON give the bits of the scalar twin --------

// Factors with 13 fractional bits, which fit 16 with their sign (ITU-R BT.601-7 and BT.709-6, section 3: Kr, Kb and the
// quantisation levels).
struct YuvFactors {
  std::int16_t y_offset = 0;
  std::int16_t y = 0;
  std::int16_t v_to_red = 0;
  std::int16_t u_to_green = 0;
  std::int16_t v_to_green = 0;
  std::int16_t u_to_blue = 0;
};

[[nodiscard]] YuvFactors make_yuv_factors(ColorMatrix matrix, ColorRange range);

// Samples of one row, a channel each.
struct YuvRow {
  const std::uint8_t* y;
  const std::uint8_t* u;
  const std::uint8_t* v;
};
struct RgbRow {
  std::uint8_t* red;
  std::uint8_t* green;
  std::uint8_t* blue;
};

void yuv_row_to_rgb(const YuvFactors& factors, const YuvRow& from, std::size_t count, const RgbRow& to);
void yuv_row_to_rgb_scalar(const YuvFactors& factors, const YuvRow& from, std::size_t count, const RgbRow& to);

// --- A frame ---------------------------------------------------------------------------------------------------------

// Where Y, U and V of a frame are: which plane, how spaced, and how much coarser than the picture.
struct YuvChannel {
  std::size_t plane = 0;
  ChannelLayout layout;
  int coarser_x = 1;
  int coarser_y = 1;
};
using YuvLayout = std::array<YuvChannel, 3>;

// For kNv12, kYuv420 and kYuyv.
[[nodiscard]] YuvLayout yuv_layout(PixelFormat format);

// Thread-bound; allocates only in the constructor. Chroma is taken as lying in the middle of its luma samples.
class YuvResample {
 public:
  YuvResample() = default;
  YuvResample(const YuvLayout& layout, const Geometry& geometry, const engine::Recipe& recipe,
              const YuvFactors& factors);

  // Red, green and blue of output row `y`; valid until the next call.
  [[nodiscard]] std::array<const std::uint8_t*, 3> rgb_row(const std::array<Plane, 3>& planes, std::size_t y);

 private:
  struct Job {
    std::size_t plane;  // of the first channel
    std::variant<PlaneResample, PlaneReduce> resample;
    std::vector<std::size_t> channels;
  };
  // Of channels that are `together`.
  void add_job(const YuvLayout& layout, const Geometry& geometry, const engine::Recipe& recipe,
               const std::vector<std::size_t>& together);

  YuvFactors factors_;
  std::vector<Job> jobs_;
  std::array<std::vector<std::uint8_t>, 3> yuv_;
  std::array<std::vector<std::uint8_t>, 3> rgb_;
};

}  // namespace kinglet::camera
