// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/large_depthwise.h"

#include <algorithm>
#include <cstdint>

namespace kinglet::engine::ops {
namespace {

// primary_tile of the largest f32-dwconv kernels.
constexpr std::size_t kMostTaps = 25;

// The part [first, first + count); nothing when all it would read is padding.
std::optional<KernelRows> part_of(const xnn::Window& whole, std::size_t first, std::size_t count, std::int64_t input,
                                  std::int64_t output) {
  const std::int64_t dilation = whole.dilation_height;
  // The input's rows that the part's first and last row meet, at the first and at the last output.
  const std::int64_t begin = static_cast<std::int64_t>(first) * dilation - whole.pad_top;
  const std::int64_t end =
      begin + ((output - 1) * whole.stride_height) + (static_cast<std::int64_t>(count - 1) * dilation) + 1;
  const std::int64_t skip = std::max<std::int64_t>(begin, 0);
  const std::int64_t rows = std::min(end, input) - skip;
  if (rows <= 0) return std::nullopt;
  KernelRows part{.first = first,
                  .count = count,
                  .skip = static_cast<std::size_t>(skip),
                  .rows = static_cast<std::size_t>(rows),
                  .window = whole};
  part.window.kernel_height = static_cast<std::uint32_t>(count);
  part.window.pad_top = static_cast<std::uint32_t>(std::max<std::int64_t>(-begin, 0));
  part.window.pad_bottom = static_cast<std::uint32_t>(std::max<std::int64_t>(end - input, 0));
  return part;
}

Result<Operand> lower_part(SubgraphBuilder& builder, const KernelRows& part, Operand input, const Tensor& filter,
                           std::optional<Operand> bias, Operand output) {
  const std::size_t width = part.window.kernel_width;
  const std::size_t channels = builder.dims(output)[3];
  Tensor rows(DataType::kF32, {1, static_cast<Dim>(part.count), static_cast<Dim>(width), static_cast<Dim>(channels)});
  const std::size_t row = width * channels;
  std::ranges::copy(filter.data<float>().subspan(part.first * row, part.count * row),
                    rows.mutable_data<float>().begin());
  const Operand weights = KINGLET_TRY(builder.constant(rows, {1, part.count, width, channels}, Lifetime::kUntilPacked));
  Dims seen = builder.dims(input);
  if (part.rows != seen[1]) {
    seen[1] = part.rows;
    const Operand cut = KINGLET_TRY(builder.temporary(seen));
    KINGLET_TRY(builder.slice({0, part.skip, 0, 0}, seen, input, cut));
    input = cut;
  }
  const std::size_t multiplier = channels / seen[3];
  KINGLET_TRY(builder.depthwise_convolution(part.window, multiplier, {}, input, weights, bias, output));
  return output;
}

}  // namespace

bool is_large_kernel(const xnn::Window& window) {
  const std::size_t width = window.kernel_width;
  return width <= kMostTaps && width * window.kernel_height > kMostTaps;
}

std::vector<KernelRows> split_kernel(const xnn::Window& window, std::size_t input, std::size_t output) {
  const std::size_t width = window.kernel_width;
  const std::size_t most = kMostTaps / width;
  std::vector<KernelRows> parts;
  for (std::size_t first = 0; first < window.kernel_height; first += most) {
    const std::size_t count = std::min(most, window.kernel_height - first);
    const auto part =
        part_of(window, first, count, static_cast<std::int64_t>(input), static_cast<std::int64_t>(output));
    if (part) parts.push_back(*part);
  }
  return parts;
}

Result<void> lower_large_depthwise(SubgraphBuilder& builder, const Node& node, const xnn::Window& window,
                                   const Tensor& filter, std::optional<Operand> bias) {
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  const Dims dims = builder.dims(output);
  const std::vector<KernelRows> parts = split_kernel(window, builder.dims(input)[1], dims[1]);
  if (parts.empty()) return fail(ErrorCode::kBadData, "every window of the convolution lies in the padding");
  std::optional<Operand> sum;
  for (const KernelRows& part : parts) {
    const Operand to = parts.size() == 1 ? output : KINGLET_TRY(builder.temporary(dims));
    KINGLET_TRY(lower_part(builder, part, input, filter, sum ? std::nullopt : bias, to));
    if (!sum) {
      sum = to;
      continue;
    }
    const Operand added = &part == &parts.back() ? output : KINGLET_TRY(builder.temporary(dims));
    KINGLET_TRY(builder.binary(xnn_binary_add, *sum, to, added));
    sum = added;
  }
  return {};
}

}  // namespace kinglet::engine::ops
