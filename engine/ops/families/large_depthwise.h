// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK's kernels for depthwise convolutions end at 25 taps; beyond, as in ConvNeXt's 7x7, it multiplies a
// matrix of one column a channel, at a tenth of the speed. Here such a convolution becomes a sum of several, each of a
// few of the kernel's rows.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/ops/lower.h"

namespace kinglet::engine::ops {

// Rows [first, first + count) of the kernel, over rows [skip, skip + rows) of the input.
struct KernelRows {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t skip = 0;
  std::size_t rows = 0;
  xnn::Window window;  // of the part
};

// More than 25 taps, 25 at most in a row.
[[nodiscard]] bool is_large_kernel(const xnn::Window& window);

// Parts of such a kernel that add up to the whole, for an input of `input` rows and an output of `output`; without
// those that see nothing but padding.
[[nodiscard]] std::vector<KernelRows> split_kernel(const xnn::Window& window, std::size_t input, std::size_t output);

// `filter` f32 in the order [1,kh,kw,channels of the output]; input 0 and output 0 of `node`.
[[nodiscard]] Result<void> lower_large_depthwise(SubgraphBuilder& builder, const Node& node, const xnn::Window& window,
                                                 const Tensor& filter, std::optional<Operand> bias);

}  // namespace kinglet::engine::ops
