// SPDX-License-Identifier: Apache-2.0
// Why: stills reach the model exactly as in training: Pillow's 8-bit resize, bit for bit. Its arithmetic in short:
// per output pixel a window of input pixels with weights of 22 fractional bits, rows first, then columns, both rounded
// to 8 bits; the window grows with the reduction (antialias).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/frame/frame.h"
#include "engine/recipe/recipe.h"

namespace kinglet::camera {

inline constexpr int kWeightBits = 22;

// One axis: output pixel i reads `count[i]` inputs from `first[i]`, weights at weights[i * window].
struct AxisWeights {
  int window = 0;
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> count;
  std::vector<std::int32_t> weights;  // sum is 1 << kWeightBits but for rounding

  [[nodiscard]] std::size_t size() const { return first.size(); }
};

// Where on the input axis the outputs lie: `output_size` pixels spread over [begin, begin + length), of which those
// from `skip` on, `keep` of them, are wanted.
struct AxisSpan {
  int input_size = 0;
  double begin = 0;
  double length = 0;
  int output_size = 0;
  int skip = 0;
  int keep = 0;
};

enum class Antialias { kOff, kOn };

// kBilinear and kBicubic (a = -0.5); kNearest gives windows of one pixel. `box`: inputs that will be put together
// (in_boxes), for which the filter of an antialiased reduction is narrower by as much as they make it wider.
[[nodiscard]] AxisWeights make_weights(const AxisSpan& span, engine::Interpolation interpolation, Antialias antialias,
                                       int box = 1);

// Weights as the quick loops read them: `steps` numbers for each output, zeros behind its own, so that four inputs can
// be taken at a time. On x86-64 in halves of 11 bits, each with that of the next input in one number, which is how two
// products are added up at once; elsewhere whole.
struct QuickWeights {
  QuickWeights() = default;
  explicit QuickWeights(const AxisWeights& axis);

  std::size_t steps = 0;
  std::vector<std::int32_t> upper;
  std::vector<std::int32_t> lower;
  std::vector<std::int32_t> whole;
};

// Weights as three digits of 256, signed bytes: of each `together` inputs, with zeros behind an output's own, the upper
// digits, the middle ones and the lower ones, `groups` times for each output. None: a weight is nearly two or more.
struct ThirdsWeights {
  ThirdsWeights() = default;
  ThirdsWeights(const AxisWeights& axis, std::size_t together);

  std::size_t groups = 0;
  std::vector<std::int8_t> parts;
};

// Resizes 8-bit RGB into rows of R,G,B bytes.
class PillowResize {
 public:
  PillowResize() = default;
  // Pure: the tables are what fixes the answer.
  PillowResize(AxisWeights columns, AxisWeights rows);

  // `out` holds 3 * columns * rows bytes, `narrowed` scratch_size(). The view must have passed check_view and be as
  // large as the tables expect. All loops give the same bits; those of every x86-64 take half the time, those of AVX2 a
  // third, those of AVX-512 with VBMI and VNNI a sixth; a 64-bit ARM has one kind.
  enum class Loops { kQuickest, kFours, kPairs, kScalar };
  void run(const Plane& rgb, std::span<std::uint8_t> narrowed, std::span<std::byte> out,
           Loops loops = Loops::kQuickest) const;
  [[nodiscard]] std::size_t scratch_size() const;

 private:
  void narrow_row(const std::uint8_t* row, Loops loops, std::uint8_t* to) const;
  void blend_rows(const std::uint8_t* top, std::size_t y, Loops loops, std::uint8_t* to) const;

  AxisWeights columns_;
  AxisWeights rows_;
  QuickWeights quick_column_weights_;
  QuickWeights quick_row_weights_;
  ThirdsWeights column_thirds_;
  ThirdsWeights row_thirds_;
  std::size_t quick_columns_ = 0;  // so many, from the first on, read nothing beyond a row's end in quick loops
  std::size_t four_columns_ = 0;   // and by fours
  std::size_t third_columns_ = 0;  // and in thirds
  int first_row_ = 0;              // input rows that any output needs: [first_row_, end_row_)
  int end_row_ = 0;
};

}  // namespace kinglet::camera
