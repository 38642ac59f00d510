// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax and Hardmax along one axis. Before opset 13 they worked on the input flattened at the axis:
// the inner form has Flatten and Reshape around, unless that makes no difference.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

// The one axis from `start` on that is not 1, when all others are: flattening changes nothing then.
std::optional<std::size_t> lone_axis(const Shape& shape, std::size_t start) {
  std::optional<std::size_t> found;
  for (std::size_t axis = start; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (found) return std::nullopt;
    found = axis;
  }
  return found ? found : start < shape.size() ? std::optional(start) : std::nullopt;
}

Result<void> normalize_softmax(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 13) return {};
  const std::int64_t axis = graph.node(id).attributes.get_int("axis", 1);
  const ValueId x = graph.node(id).inputs.at(0);
  const std::optional<Shape> shape = graph.value(x).shape;
  if (!shape) return refuse(graph, id, ErrorCode::kUnsupported, "old-style softmax of an input of unknown rank");
  // The last axis of a rank-1 or larger tensor, or axis = rank (one long row each) are both written in old files.
  const auto rank = static_cast<std::int64_t>(shape->size());
  if (axis < -rank || axis > rank) {
    return refuse(graph, id, ErrorCode::kBadData, format_text("axis {} of a tensor of {} dimensions", axis, rank));
  }
  const std::size_t start = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  if (const std::optional<std::size_t> lone = lone_axis(*shape, start)) {
    graph.attributes(id).set("axis", static_cast<std::int64_t>(*lone));
    return {};
  }
  const DataType type = graph.value(x).type;
  Attributes flatten;
  flatten.set("axis", static_cast<std::int64_t>(start));
  const ValueId flat = insert_before(graph, id, "Flatten", {x}, std::move(flatten), type);
  Attributes last = graph.node(id).attributes;
  last.set("axis", std::int64_t{-1});
  const std::string op_type = graph.node(id).op_type;
  const ValueId soft = insert_before(graph, id, op_type, {flat}, std::move(last), type);
  const ValueId target = insert_before(graph, id, "Shape", {x}, {}, DataType::kI64);
  graph.set_op_type(id, "", "Reshape");  // the node itself keeps its name and output
  graph.attributes(id).remove("axis");
  graph.set_input(id, 0, soft);
  set_or_add_input(graph, id, 1, target);
  return {};
}

Result<void> infer_softmax(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  const std::optional<Shape>& shape = context.input_shape(0);
  if (shape) KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", -1), shape->size()));
  context.set_output(0, context.input_type(0), shape);
  return {};
}

// f(line in, line out): lines along the axis, gathered into contiguous memory.
template <typename F>
void for_each_line(const Node& node, const Tensor& x, Tensor& y, F f) {
  const std::size_t axis = axis_index(node.attributes.get_int("axis", -1), x.shape().size());
  const AxisView view = view_axis(x.shape(), axis);
  std::vector<double> line(static_cast<std::size_t>(view.length));
  const float* from = x.data<float>().data();
  float* to = y.mutable_data<float>().data();
  for (std::int64_t outer = 0; outer < view.outer; ++outer) {
    for (std::int64_t inner = 0; inner < view.inner; ++inner) {
      const std::int64_t start = outer * view.length * view.inner + inner;
      for (std::int64_t i = 0; i < view.length; ++i) line[static_cast<std::size_t>(i)] = from[start + i * view.inner];
      f(std::span(line));
      for (std::int64_t i = 0; i < view.length; ++i)
        to[start + i * view.inner] = static_cast<float>(line[static_cast<std::size_t>(i)]);
    }
  }
}

// Takes the greatest number from each; the sum of their exponentials. Large scores keep their differences this way.
double shift_and_sum(std::span<double> line) {
  double top = -std::numeric_limits<double>::infinity();
  for (const double value : line) top = std::max(top, value);
  double sum = 0;
  for (double& value : line) {
    value -= top;
    sum += std::exp(value);
  }
  return sum;
}

Result<void> evaluate_softmax(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  for_each_line(node, *inputs[0], outputs[0], [](std::span<double> line) {
    const double sum = shift_and_sum(line);
    for (double& value : line) value = std::exp(value) / sum;
  });
  return {};
}

// Soft-max of the last axis of `dims` reached by moving `axis` there.
Result<void> softmax_of_moved(SubgraphBuilder& builder, std::size_t axis, Operand input, Operand output) {
  const std::size_t last = builder.dims(input).size() - 1;
  Dims swap(last + 1);
  std::iota(swap.begin(), swap.end(), 0);
  std::swap(swap[axis], swap[last]);
  Dims moved = builder.dims(input);
  std::swap(moved[axis], moved[last]);
  const Operand before = KINGLET_TRY(builder.temporary(moved));
  const Operand after = KINGLET_TRY(builder.temporary(moved));
  KINGLET_TRY(builder.transpose(swap, input, before));
  KINGLET_TRY(builder.softmax(before, after));
  return builder.transpose(swap, after, output);
}

Result<bool> lower_softmax(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& shape = *graph.value(node.inputs[0]).shape;
  if (shape.empty()) return false;
  const Layout layout = builder.layout(node.outputs[0]);
  const std::size_t axis = physical_axis(axis_index(node.attributes.get_int("axis", -1), shape.size()), layout);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], layout));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  const Dims dims = builder.dims(input);
  if (axis + 1 == dims.size()) {
    KINGLET_TRY(builder.softmax(input, output));
  } else if (std::all_of(dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, dims.end(),
                         [](auto dim) { return dim == 1; })) {
    const Dims flat(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    const Operand before = KINGLET_TRY(builder.temporary(flat));
    const Operand after = KINGLET_TRY(builder.temporary(flat));
    KINGLET_TRY(builder.reshape(input, before));
    KINGLET_TRY(builder.softmax(before, after));
    KINGLET_TRY(builder.reshape(after, output));
  } else {
    KINGLET_TRY(softmax_of_moved(builder, axis, input, output));
  }
  return true;
}

Result<void> evaluate_log_softmax(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  for_each_line(node, *inputs[0], outputs[0], [](std::span<double> line) {
    const double log_sum = std::log(shift_and_sum(line));
    for (double& value : line) value -= log_sum;
  });
  return {};
}

Result<void> evaluate_hardmax(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  for_each_line(node, *inputs[0], outputs[0], [](std::span<double> line) {
    const auto top = std::ranges::max_element(line) - line.begin();
    std::ranges::fill(line, 0.0);
    if (!line.empty()) line[static_cast<std::size_t>(top)] = 1.0;
  });
  return {};
}

}  // namespace

const OpParts kSoftmax{.normalize = normalize_softmax,
                       .infer = infer_softmax,
                       .evaluate = evaluate_softmax,
                       .lower = lower_softmax,
                       .traits = {.never_negative = NeverNegative::kAlways, .dims = DimRule::kLikeFirst}};
const OpParts kLogSoftmax{.normalize = normalize_softmax,
                          .infer = infer_softmax,
                          .evaluate = evaluate_log_softmax,
                          .traits = {.dims = DimRule::kLikeFirst}};
const OpParts kHardmax{.normalize = normalize_softmax, .infer = infer_softmax, .evaluate = evaluate_hardmax};

}  // namespace kinglet::engine::ops
