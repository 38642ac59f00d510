// SPDX-License-Identifier: Apache-2.0
// Pad: inputs data, pads [begin..., end...], value, axes (opset 18). Negative pads cut. Modes constant, reflect, edge,
// wrap. Before opset 11 pads and value were attributes.
#include <algorithm>

#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

Result<void> normalize_pad(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 11) return {};
  const Attributes& attributes = graph.node(id).attributes;
  const char* name = attributes.find("pads") != nullptr ? "pads" : "paddings";  // opset 1
  const float value = attributes.get_float("value", 0.0F);
  ints_to_input(graph, id, name, 1);
  if (graph.node(id).inputs.size() < 2) return refuse(graph, id, ErrorCode::kBadData, "attribute pads is missing");
  graph.attributes(id).remove("value");
  if (value != 0) {
    const bool half = graph.value(graph.node(id).inputs[0]).type == DataType::kF16;
    Tensor tensor = half ? Tensor::of<Half>({}, {to_half(value)}) : Tensor::of<float>({}, {value});
    set_or_add_input(graph, id, 2, add_node_constant(graph, id, "value", std::move(tensor)));
  }
  return {};
}

// Pads of every axis, [begin, end] each; axes that are not named have none. Needs checked inputs.
std::vector<std::pair<std::int64_t, std::int64_t>> spread_pads(const Tensor& pads, const Tensor* axes,
                                                               std::size_t rank) {
  const std::vector<std::int64_t> numbers = pads.to_int64s();
  std::vector<std::pair<std::int64_t, std::int64_t>> out(rank);
  const std::size_t half = numbers.size() / 2;
  const std::vector<std::int64_t> named = axes != nullptr ? axes->to_int64s() : std::vector<std::int64_t>{};
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t axis = axes != nullptr ? axis_index(named[i], rank) : i;
    out[axis] = {numbers[i], numbers[half + i]};
  }
  return out;
}

Result<void> check_pads(const InferContext& context, const Tensor& pads, const Tensor* axes, std::size_t rank) {
  const std::vector<std::int64_t> numbers = pads.to_int64s();
  std::size_t count = rank;
  if (axes != nullptr) count = KINGLET_TRY(checked_axes(context, axes->to_int64s(), rank)).size();
  if (numbers.size() != 2 * count) {
    return context.fail(format_text("pads has {} numbers, expected {}", numbers.size(), 2 * count));
  }
  for (const std::int64_t pad : numbers) {
    if (pad < -kMaxDim || pad > kMaxDim) return context.fail(format_text("pads holds {}", pad));
  }
  return {};
}

Result<void> infer_pad(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_type(context, 1, kIndices));
  if (context.has_input(2)) KINGLET_TRY(need_type_of(context, 2, 0));
  if (context.has_input(3)) KINGLET_TRY(need_type(context, 3, kIndices));
  const std::string_view mode = context.attributes().get_string("mode", "constant");
  constexpr std::array<std::string_view, 4> kModes{"constant", "reflect", "edge", "wrap"};
  if (std::ranges::find(kModes, mode) == kModes.end()) return context.fail("attribute mode has an unknown value");
  const std::optional<Shape>& x = context.input_shape(0);
  const Tensor* pads = context.input_constant(1);
  const Tensor* axes = context.input_constant(3);
  if (!x || pads == nullptr || (context.has_input(3) && axes == nullptr)) {
    context.set_output(0, context.input_type(0), x ? std::optional(Shape(x->size(), kUnknownDim)) : std::nullopt);
    return {};
  }
  KINGLET_TRY(check_pads(context, *pads, axes, x->size()));
  const auto spread = spread_pads(*pads, axes, x->size());
  Shape out;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const Dim dim = (*x)[i];
    const auto [begin, end] = spread[i];
    out.push_back(dim == kUnknownDim ? (begin == 0 && end == 0 ? dim : kUnknownDim) : dim + begin + end);
    if (dim != kUnknownDim && (out.back() < 0 || dim + begin < 0 || dim + end < 0)) {
      return context.fail(format_text("cuts more than there is of {}", to_string(*x)));
    }
    if (mode != "constant" && dim == 0 && out.back() > 0) return context.fail("nothing to repeat on an empty axis");
    if (mode == "reflect" && dim != kUnknownDim &&
        (begin >= std::max<Dim>(dim, 2) * 8 || end >= std::max<Dim>(dim, 2) * 8)) {
      return context.fail(format_text("reflects {} and {} beyond axis {} of {}", begin, end, i, to_string(*x)));
    }
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

// The source index of place `at` (which may lie outside 0..size), or -1 for the constant.
std::int64_t source_of(std::int64_t at, std::int64_t size, std::string_view mode) {
  if (at >= 0 && at < size) return at;
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, size - 1);
  if (mode == "wrap") return ((at % size) + size) % size;
  if (mode == "reflect") {
    if (size == 1) return 0;
    const std::int64_t period = 2 * (size - 1);
    const std::int64_t phase = ((at % period) + period) % period;
    return phase < size ? phase : period - phase;
  }
  return -1;
}

Result<void> evaluate_pad(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Tensor& x = *inputs[0];
  const std::size_t rank = x.shape().size();
  const auto pads = spread_pads(*inputs[1], inputs.size() > 3 ? inputs[3] : nullptr, rank);
  const std::string_view mode = node.attributes.get_string("mode", "constant");
  const std::vector<std::int64_t> strides = row_major_strides(x.shape());
  // For each axis, what each output place adds to the source offset; -1 where it is the constant.
  std::vector<std::vector<std::int64_t>> table(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    for (Dim i = 0; i < outputs[0].shape()[axis]; ++i) {
      const std::int64_t source = source_of(i - pads[axis].first, x.shape()[axis], mode);
      table[axis].push_back(source < 0 ? -1 : source * strides[axis]);
    }
  }
  visit_size(x.type(), [&]<typename T>() {
    const T fill = inputs.size() > 2 && inputs[2] != nullptr ? raw<T>(*inputs[2])[0] : T{0};
    const auto from = raw<T>(x);
    std::vector<std::size_t> at(rank, 0);
    for (T& element : raw<T>(outputs[0])) {
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < rank && offset >= 0; ++axis) {
        const std::int64_t step = table[axis][at[axis]];
        offset = step < 0 ? -1 : offset + step;
      }
      element = offset < 0 ? fill : from[static_cast<std::size_t>(offset)];
      for (std::size_t axis = rank; axis-- > 0;) {
        if (++at[axis] < table[axis].size()) break;
        at[axis] = 0;
      }
    }
  });
  return {};
}

Result<bool> lower_pad(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* pads = constant_input(graph, node, 1);
  const Tensor* axes = constant_input(graph, node, 3);
  if (pads == nullptr || (is_given(node, 3) && axes == nullptr)) return false;
  if (node.attributes.get_string("mode", "constant") != "constant") return false;
  const std::optional<float> value = is_given(node, 2) ? scalar_constant(graph, node, 2) : 0.0F;
  if (!value) return false;
  const std::size_t rank = graph.value(node.inputs[0]).shape->size();
  const Layout layout = builder.layout(node.outputs[0]);
  const auto spread = spread_pads(*pads, axes, rank);
  Dims before(rank, 0);
  Dims after(rank, 0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto [begin, end] = spread[axis];
    if (begin < 0 || end < 0) return false;
    before[physical_axis(axis, layout)] = static_cast<std::size_t>(begin);
    after[physical_axis(axis, layout)] = static_cast<std::size_t>(end);
  }
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], layout));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.pad(before, after, *value, input, output));
  return true;
}

}  // namespace

const OpParts kPad{.normalize = normalize_pad,
                   .infer = infer_pad,
                   .evaluate = evaluate_pad,
                   .lower = lower_pad,
                   .traits = {.numbers = Numbers::kMoved}};

}  // namespace kinglet::engine::ops
