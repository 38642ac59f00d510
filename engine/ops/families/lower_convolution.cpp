// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/lower_convolution.h"

#include <algorithm>
#include <cstdint>

#include "engine/ops/families/window.h"

namespace kinglet::engine::ops {
namespace {

// [O,I,kh,kw] -> [O,kh,kw,I], when somebody asks for them; shares the numbers where both orders are one.
Tensor channels_last(const Tensor& tensor, const Shape& logical) {
  if (layout_neutral(logical)) return tensor;
  return Tensor::later(tensor.type(), physical_shape(logical, Layout::kNhwc),
                       [tensor, logical](std::size_t /*first*/, std::span<std::byte> to) {
                         copy_layout(logical, byte_size(tensor.type()), tensor.bytes(), Layout::kLogical, to,
                                     Layout::kNhwc);
                         return true;
                       });
}

// XNNPACK's kernels for depthwise convolutions end at 25 taps (primary_tile of the largest f32-dwconv kernels); beyond,
// as in ConvNeXt's 7x7, it multiplies a matrix of one column a channel, at a tenth of the speed. Such a convolution
// becomes a sum of several, each of a few of the kernel's rows.
constexpr std::size_t kMostTaps = 25;

// Rows [first, first + count) of the kernel, over rows [skip, skip + rows) of the input.
struct KernelRows {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t skip = 0;
  std::size_t rows = 0;
  xnn::Window window;  // of the part
};

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

// More than 25 taps, 25 at most in a row.
bool is_large_kernel(const xnn::Window& window) {
  const std::size_t width = window.kernel_width;
  return width <= kMostTaps && width * window.kernel_height > kMostTaps;
}

// Parts of such a kernel that add up to the whole, for an input of `input` rows and an output of `output`; without
// those that see nothing but padding.
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

// `filter` f32 in the order [1,kh,kw,channels of the output]; input 0 and output 0 of `node`.
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

}  // namespace

Result<bool> lower_convolution(SubgraphBuilder& builder, const Node& node, const Tensor& weight,
                               const MakeFilter& make_filter, const MakeBias& make_bias) {
  if (weight.shape().size() != 4) return false;
  const Shape& shape = weight.shape();
  const Shape& input_shape = *builder.graph().value(node.inputs[0]).shape;
  const auto group = node.attributes.get_int("group", 1);
  const Window found = resolve_window(node.attributes, std::span(shape).subspan(2), std::span(input_shape).subspan(2));
  const auto window = to_xnn(found);
  if (!window) return false;

  const bool depthwise = group == input_shape[1] && group > 1;
  // A depthwise filter [C*m,1,kh,kw] is one image of C*m channels.
  const Shape logical = depthwise ? Shape{1, shape[0], shape[2], shape[3]} : shape;
  const Tensor numbers = builder.is_probe() ? weight : channels_last(weight, logical);
  const ColumnBlock all{.first = 0, .count = static_cast<std::size_t>(shape[0])};
  if (depthwise && weight.type() == DataType::kF32 && is_large_kernel(*window)) {
    const std::optional<Operand> bias = KINGLET_TRY(make_bias({}, all));
    KINGLET_TRY(lower_large_depthwise(builder, node, *window, numbers, bias));
    return true;
  }
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  if (depthwise) {
    const Operand filter = KINGLET_TRY(make_filter(numbers, dims_of(physical_shape(logical, Layout::kNhwc)), 3));
    const std::optional<Operand> bias = KINGLET_TRY(make_bias(filter, all));
    const auto multiplier = static_cast<std::size_t>(shape[0] / group);
    KINGLET_TRY(builder.depthwise_convolution(*window, multiplier, range, input, filter, bias, output));
    return true;
  }
  const Dims& out = builder.dims(output);
  const bool in_blocks = group == 1 && weight.type() == DataType::kF32 && !builder.is_probe();
  const std::vector<ColumnBlock> blocks = in_blocks
                                              ? column_blocks(out[3], weight.byte_count(), out[0] * out[1] * out[2],
                                                              BlockWeights::kTogether, builder.threads())
                                              : std::vector{all};
  KINGLET_TRY(lower_in_blocks(builder, blocks, output, [&](const ColumnBlock& block, Operand part) -> Result<void> {
    Dims dims = dims_of(physical_shape(logical, Layout::kNhwc));
    dims[0] = block.count;
    const Operand filter = KINGLET_TRY(make_filter(columns_of(numbers, 0, block), dims, 0));
    const std::optional<Operand> bias = KINGLET_TRY(make_bias(filter, block));
    return builder.convolution(*window, static_cast<std::size_t>(group), range, input, filter, bias, part);
  }));
  return true;
}

}  // namespace kinglet::engine::ops
