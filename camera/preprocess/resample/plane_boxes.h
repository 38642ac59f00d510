// SPDX-License-Identifier: Apache-2.0
// Why: the first of two steps where video becomes much smaller (decision 46): boxes of pixels become their means, a row
// of boxes when the filter behind needs it, which then looks at a fourth or an eighth of what the frame has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/frame/frame.h"
#include "camera/preprocess/resample/pillow_resample.h"
#include "camera/preprocess/resample/row_kernels.h"

namespace kinglet::camera {

// How many samples of a plane's finest channel are one to the filter, side by side and below each other.
struct Boxes {
  int columns = 1;
  int rows = 1;

  [[nodiscard]] bool any() const { return columns > 1; }
};

// For a filter that is antialiased and has no weights below zero. So large that an output still has two boxes at least
// along each axis; columns first: rows are taken together only where columns are.
[[nodiscard]] Boxes boxes_for(const AxisSpan& columns, const AxisSpan& rows);

// The weights of boxes of `side` inputs from input `begin` on, which no output looks before: each is the sum of its
// inputs' weights. Of all weights for boxes these come nearest to those of the inputs, wherever boxes begin.
[[nodiscard]] AxisWeights in_boxes(const AxisWeights& axis, std::int32_t begin, int side);

// Rows of boxes of a plane, or (kApart) of two. Thread-bound; allocates only in the constructor.
class BoxedRows {
 public:
  // Which part of each plane: `samples` of its first channel in each row, from `byte` on.
  struct Part {
    Weave weave = Weave::kPlain;
    std::size_t byte = 0;
    std::size_t samples = 0;
    std::size_t row = 0;
    std::size_t rows = 0;
  };
  // `at`: where each channel begins in a row of boxes, which has `row_bytes`. `most`: rows asked for at once.
  BoxedRows(const Part& part, Boxes boxes, const std::array<std::size_t, 3>& at, std::size_t row_bytes,
            std::size_t most);

  // Another frame follows.
  void forget() { first_ = end_ = 0; }
  // Rows of boxes `first` to `first + count`, row_bytes() apart; valid until the next call. Never one before the last
  // call's first.
  [[nodiscard]] const std::uint8_t* rows(std::span<const Plane> planes, std::size_t first, std::size_t count);
  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }

 private:
  void make_row(std::span<const Plane> planes, std::size_t row, std::uint8_t* to) const;

  BoxKernels::Means means_;
  Part part_;
  std::size_t columns_;  // of a box
  std::size_t rows_;     // the same
  std::array<std::size_t, 3> at_;
  std::size_t row_bytes_;
  std::size_t room_;  // rows that `kept_` holds: those from first_ to end_ are there
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  std::vector<std::uint8_t> kept_;
};

}  // namespace kinglet::camera
