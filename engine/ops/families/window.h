// SPDX-License-Identifier: Apache-2.0
// Why: the arithmetic of sliding windows (kernel, strides, dilations, pads, auto_pad, ceil_mode) that convolution and
// pooling share, over any number of spatial dimensions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/xnnpack/checks.h"
#include "engine/ops/common.h"

namespace kinglet::engine::ops {

// One number a spatial dimension in each vector.
struct Window {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t> pads_end;  // as padded before ceil_mode reaches beyond
};

// Extent of a dilated kernel.
[[nodiscard]] constexpr std::int64_t window_extent(std::int64_t kernel, std::int64_t dilation) {
  return (kernel - 1) * dilation + 1;
}

// Reads strides, dilations, pads and auto_pad of the attributes for spatial sizes `input` (kUnknownDim where unknown:
// the pads of auto_pad are 0 then) and checks ranges. For infer; pads of auto_pad SAME are resolved.
[[nodiscard]] Result<Window> checked_window(const InferContext& context, std::span<const std::int64_t> kernel,
                                            std::span<const Dim> input);

// The same for evaluate and lowering, after infer has checked it.
[[nodiscard]] Window resolve_window(const Attributes& attributes, std::span<const std::int64_t> kernel,
                                    std::span<const Dim> input);

// Output sizes; unknown stays unknown. Nothing when a window does not fit into its padded input.
[[nodiscard]] std::optional<Shape> window_output(const Window& window, std::span<const Dim> input, bool ceil_mode,
                                                 bool same_padding);

// auto_pad is SAME_UPPER or SAME_LOWER.
[[nodiscard]] bool pads_same(const Attributes& attributes);

// In XNNPACK's words; nothing when the window is not two-dimensional or a number does not fit 32 bits.
[[nodiscard]] std::optional<xnn::Window> to_xnn(const Window& window);

}  // namespace kinglet::engine::ops
