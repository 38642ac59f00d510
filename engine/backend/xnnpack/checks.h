// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK runs silently on wrong shapes and aborts on some parameters, so each node kind has a check of our own
// that must pass before XNNPACK hears of it. Pure functions over physical dimensions (4-D is [N,H,W,C]).
//
// All errors are kBadData and name the two numbers that disagree; the plan takes them as "this node runs elsewhere".
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/quantization.h"

namespace kinglet::engine::xnn {

using Dims = std::vector<std::size_t>;

inline constexpr std::size_t kMaxRank = 6;
inline constexpr float kNoMin = -std::numeric_limits<float>::infinity();
inline constexpr float kNoMax = std::numeric_limits<float>::infinity();

// A closed range that results are clipped to.
struct Range {
  float min = kNoMin;
  float max = kNoMax;
  [[nodiscard]] bool open() const { return min == kNoMin && max == kNoMax; }
  bool operator==(const Range&) const = default;
};

// The geometry of a convolution or pooling over [N,H,W,C].
struct Window {
  std::uint32_t kernel_height = 1, kernel_width = 1;
  std::uint32_t stride_height = 1, stride_width = 1;
  std::uint32_t dilation_height = 1, dilation_width = 1;
  std::uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
};

using Quantization = LinearQuantization;

// Rank at most 6, no dimension of 0, size below 2^40 elements, every dimension below 2^31.
[[nodiscard]] Result<void> check_dims(std::span<const std::size_t> dims);

// min < max and neither is NaN.
[[nodiscard]] Result<void> check_range(const Range& range);
// Of a clamp behind a layer that clips by itself. XNNPACK (20241108) joins the two and writes the bounds over the
// layer's first paddings as well: the larger of both for the lower bound, the smaller for the upper one, their bits
// taken for floats. The paddings stay what they are only where the lower bound is at most +0 and the upper one a normal
// number above it.
[[nodiscard]] Result<void> check_joined_clamp(const Range& range);

// scale a normal positive number; the zero point in the type's range.
[[nodiscard]] Result<void> check_quantization(const Quantization& quantization, bool is_signed);

// XNNPACK asserts it (engine/graph/quantization.h).
[[nodiscard]] Result<void> check_ratio(const ScaleRatios& range, float ratio);
// Of an 8-bit LeakyRelu: ratio of the scales times its slope, of any sign.
[[nodiscard]] Result<void> check_slope(float ratio);

// Strides, dilations, kernel not 0; the window fits the padded input; output rows and columns are the window's count.
[[nodiscard]] Result<void> check_window(const Window& window, std::span<const std::size_t> input,
                                        std::span<const std::size_t> output);

// filter [O,kh,kw,I/groups], bias empty or [O].
[[nodiscard]] Result<void> check_convolution(const Window& window, std::size_t groups,
                                             std::span<const std::size_t> input, std::span<const std::size_t> filter,
                                             std::span<const std::size_t> bias, std::span<const std::size_t> output);

// filter [1,kh,kw,C*multiplier], bias empty or [C*multiplier].
[[nodiscard]] Result<void> check_depthwise(const Window& window, std::size_t multiplier,
                                           std::span<const std::size_t> input, std::span<const std::size_t> filter,
                                           std::span<const std::size_t> bias, std::span<const std::size_t> output);

// Channels kept; kernel more than one element; no window wholly in the padding.
[[nodiscard]] Result<void> check_pooling(const Window& window, std::span<const std::size_t> input,
                                         std::span<const std::size_t> output);

// input [...,I], filter [O,I] (or [I,O] when transposed), bias empty or [O], output [...,O].
[[nodiscard]] Result<void> check_fully_connected(std::span<const std::size_t> input,
                                                 std::span<const std::size_t> filter, bool transposed,
                                                 std::span<const std::size_t> bias,
                                                 std::span<const std::size_t> output);

// a [...,M,K], b [...,K,N], output [...,M,N] with equal leading dimensions, rank at least 3.
[[nodiscard]] Result<void> check_batch_matrix_multiply(std::span<const std::size_t> a, std::span<const std::size_t> b,
                                                       std::span<const std::size_t> output);

[[nodiscard]] Result<void> check_same_dims(std::span<const std::size_t> a, std::span<const std::size_t> b);
// As ONNX: from the innermost dimension outwards they are equal, or one of them is 1 or absent.
[[nodiscard]] Result<void> check_broadcast(std::span<const std::size_t> a, std::span<const std::size_t> b,
                                           std::span<const std::size_t> output);
// Alike but along `axis`, where the inputs' add up to the output's.
[[nodiscard]] Result<void> check_concatenate(std::size_t axis, std::span<const Dims* const> inputs,
                                             std::span<const std::size_t> output);
// One offset and one size a dimension, within the input; the sizes are the output's.
[[nodiscard]] Result<void> check_slice(std::span<const std::size_t> offsets, std::span<const std::size_t> sizes,
                                       std::span<const std::size_t> input, std::span<const std::size_t> output);
// As many numbers.
[[nodiscard]] Result<void> check_reshape(std::span<const std::size_t> input, std::span<const std::size_t> output);
// permutation: the input's axis of each of the output's, every one once.
[[nodiscard]] Result<void> check_transpose(std::span<const std::size_t> permutation, std::span<const std::size_t> input,
                                           std::span<const std::size_t> output);
// One number a dimension before and one after, below 2^31.
[[nodiscard]] Result<void> check_pad(std::span<const std::size_t> before, std::span<const std::size_t> after,
                                     std::span<const std::size_t> input, std::span<const std::size_t> output);
// axes sorted, each once, at least one; the output has 1 there, or with keep_dims false nothing.
[[nodiscard]] Result<void> check_reduce(std::span<const std::size_t> axes, bool keep_dims,
                                        std::span<const std::size_t> input, std::span<const std::size_t> output);
// 4-D, batch and channels kept, sides below 2^24.
[[nodiscard]] Result<void> check_resize(std::span<const std::size_t> input, std::span<const std::size_t> output);

// "[1,224,224,3]"
[[nodiscard]] std::string dims_text(std::span<const std::size_t> dims);

}  // namespace kinglet::engine::xnn
