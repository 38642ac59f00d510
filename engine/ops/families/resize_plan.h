// SPDX-License-Identifier: Apache-2.0
// Why: what Resize does to each axis, for its inference, evaluation and lowering; and its older forms.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/ops/common.h"

namespace kinglet::engine::ops {

enum class Coordinates : std::uint8_t {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kCrop
};
// Nothing for an unknown name.
[[nodiscard]] std::optional<Coordinates> coordinates_of(const Attributes& attributes);

// One axis: `length` is what the coordinates take as the output's length, `out` how many numbers it has.
struct AxisPlan {
  Dim in = 0, out = 0;
  double scale = 1, length = 0;
  double roi_start = 0, roi_end = 1;
};

// Axes that the lists of scales, sizes and roi stand for, in their order. The axes were checked by infer.
[[nodiscard]] std::vector<std::size_t> resized_axes(const Attributes& attributes, std::size_t rank);

// One plan an axis of x. Nothing when a size is out of range. `scales` and `sizes` have one number for each of `axes`,
// one of them is empty.
[[nodiscard]] std::optional<std::vector<AxisPlan>> plan_axes(const Attributes& attributes, const Shape& x,
                                                             const std::vector<std::size_t>& axes,
                                                             const std::vector<float>& scales,
                                                             const std::vector<std::int64_t>& sizes);

inline constexpr std::size_t kResizeScales = 2;  // its input

// Op::normalize of both names (resize_older.cpp).
[[nodiscard]] Result<void> normalize_resize(Graph& graph, NodeId id, std::int64_t opset);
[[nodiscard]] Result<void> normalize_upsample(Graph& graph, NodeId id, std::int64_t opset);

}  // namespace kinglet::engine::ops
