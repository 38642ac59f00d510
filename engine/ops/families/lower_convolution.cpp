// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/lower_convolution.h"

#include "engine/ops/families/large_depthwise.h"
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
  const std::vector<ColumnBlock> blocks =
      in_blocks ? column_blocks(out[3], weight.byte_count(), out[0] * out[1] * out[2], BlockWeights::kTogether)
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
