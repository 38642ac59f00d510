// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/plane_boxes.h"

#include <algorithm>
#include <cstring>

namespace kinglet::camera {
namespace {

// The largest power of two that leaves an output two boxes.
int box_side(const AxisSpan& axis) {
  const double inputs = axis.length / axis.output_size;
  int side = 1;
  while (side < static_cast<int>(kMostBox) && inputs >= 4 * side) side *= 2;
  return side;
}

}  // namespace

Boxes boxes_for(const AxisSpan& columns, const AxisSpan& rows) {
  const int side = box_side(columns);
  return side == 1 ? Boxes{} : Boxes{.columns = side, .rows = box_side(rows)};
}

AxisWeights in_boxes(const AxisWeights& axis, std::int32_t begin, int side) {
  AxisWeights boxed;
  for (std::size_t i = 0; i < axis.size(); ++i) {
    const std::int32_t first = axis.first[i] - begin;
    boxed.first.push_back(first / side);
    boxed.count.push_back((first + axis.count[i] - 1) / side - first / side + 1);
    boxed.window = std::max(boxed.window, boxed.count.back());
  }
  const auto window = static_cast<std::size_t>(boxed.window);
  boxed.weights.resize(axis.size() * window);
  for (std::size_t i = 0; i < axis.size(); ++i) {
    const std::int32_t inside = axis.first[i] - begin - boxed.first[i] * side;  // of the first box
    for (std::int32_t k = 0; k < axis.count[i]; ++k) {
      boxed.weights[i * window + static_cast<std::size_t>((inside + k) / side)] +=
          axis.weights[i * static_cast<std::size_t>(axis.window) + static_cast<std::size_t>(k)];
    }
  }
  return boxed;
}

BoxedRows::BoxedRows(const Part& part, Boxes boxes, const std::array<std::size_t, 3>& at, std::size_t row_bytes,
                     std::size_t most)
    : means_(box_kernels().front().of(part.weave == Weave::kApart ? Weave::kPlain : part.weave)),
      part_(part),
      columns_(static_cast<std::size_t>(boxes.columns)),
      rows_(static_cast<std::size_t>(boxes.rows)),
      at_(at),
      row_bytes_(row_bytes),
      room_(4 * most),  // so that rows seldom move
      kept_(room_ * row_bytes) {}

const std::uint8_t* BoxedRows::rows(std::span<const Plane> planes, std::size_t first, std::size_t count) {
  if (first + count > first_ + room_) {
    const std::size_t keep = end_ > first ? end_ - first : 0;
    if (keep > 0) std::memmove(kept_.data(), kept_.data() + (first - first_) * row_bytes_, keep * row_bytes_);
    first_ = first;
    end_ = first + keep;
  }
  for (; end_ < first + count; ++end_) make_row(planes, end_, kept_.data() + (end_ - first_) * row_bytes_);
  return kept_.data() + (first - first_) * row_bytes_;
}

void BoxedRows::make_row(std::span<const Plane> planes, std::size_t row, std::uint8_t* to) const {
  const std::size_t above = row * rows_;
  const auto make = [&](const Plane& plane, const std::array<std::uint8_t*, 3>& out) {
    means_({.top = reinterpret_cast<const std::uint8_t*>(plane.bytes.data()) + (part_.row + above) * plane.stride +
                   part_.byte,
            .stride = plane.stride,
            .rows = std::min(rows_, part_.rows - above),
            .samples = part_.samples,
            .side = columns_,
            .halves_down = row % 2 == 1},
           out);
  };
  make(planes[0], {to + at_[0], to + at_[1], to + at_[2]});
  if (part_.weave == Weave::kApart) make(planes[1], {to + at_[1], to, to});
}

}  // namespace kinglet::camera
