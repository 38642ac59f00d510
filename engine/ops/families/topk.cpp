// SPDX-License-Identifier: Apache-2.0
// TopK: the k greatest (or smallest) numbers along an axis, best first, and where they stood. Equal numbers come in the
// order of their places; NaN counts as greater than any number.
#include <algorithm>
#include <numeric>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

// Before opset 10 k was an attribute.
Result<void> normalize_topk(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset >= 10) return {};
  const std::int64_t k = graph.node(id).attributes.get_int("k", -1);
  set_or_add_input(graph, id, 1, add_node_constant(graph, id, "k", int64_tensor(std::array{k})));
  graph.attributes(id).remove("k");
  return {};
}

Result<void> infer_topk(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kNumbers));
  KINGLET_TRY(need_type(context, 1, kIndices));
  std::optional<Shape> out = context.input_shape(0);
  if (out) {
    const std::size_t axis = KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", -1), out->size()));
    const Tensor* k = context.input_constant(1);
    if (k != nullptr && k->element_count() != 1) return context.fail("k is not one number");
    const Dim size = (*out)[axis];
    const Dim wanted = k == nullptr ? kUnknownDim : k->to_int64s()[0];
    if (k != nullptr && (wanted < 0 || wanted > kMaxDim || (size != kUnknownDim && wanted > size))) {
      return context.fail(format_text("k is {}, axis {} of {} has fewer numbers", wanted, axis, to_string(*out)));
    }
    (*out)[axis] = wanted;
  }
  context.set_output(0, context.input_type(0), out);
  context.set_output(1, DataType::kI64, out);
  return {};
}

template <typename T>
bool is_nan(T x) {
  return x != x;
}

// a stands before b.
template <typename T>
bool is_better(T a, T b, bool largest) {
  if (is_nan(a) || is_nan(b)) return largest ? is_nan(a) && !is_nan(b) : !is_nan(a) && is_nan(b);
  return largest ? a > b : a < b;
}

template <typename T>
void take_top(const Node& node, const Tensor& x, std::span<Tensor> outputs) {
  const std::size_t axis = axis_index(node.attributes.get_int("axis", -1), x.shape().size());
  const bool largest = node.attributes.get_int("largest", 1) != 0;
  const AxisView view = view_axis(x.shape(), axis);
  const std::int64_t k = outputs[0].shape()[axis];
  const T* from = x.data<T>().data();
  T* values = outputs[0].mutable_data<T>().data();
  std::int64_t* places = outputs.size() > 1 ? outputs[1].mutable_data<std::int64_t>().data() : nullptr;
  std::vector<std::int64_t> order(static_cast<std::size_t>(view.length));
  for (std::int64_t i = 0; i < view.outer * view.inner; ++i) {
    const T* line = from + i / view.inner * view.length * view.inner + i % view.inner;
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t a, std::int64_t b) {
      const T left = line[a * view.inner];
      const T right = line[b * view.inner];
      if (is_better(left, right, largest)) return true;
      return !is_better(right, left, largest) && a < b;
    });
    const std::int64_t start = i / view.inner * k * view.inner + i % view.inner;
    for (std::int64_t j = 0; j < k; ++j) {
      values[start + j * view.inner] = line[order[static_cast<std::size_t>(j)] * view.inner];
      if (places != nullptr) places[start + j * view.inner] = order[static_cast<std::size_t>(j)];
    }
  }
}

Result<void> evaluate_topk(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  visit_type(inputs[0]->type(), [&]<typename T>() { take_top<T>(node, *inputs[0], outputs); });
  return {};
}

double topk_steps(const Graph& graph, const Node& node) {
  constexpr double kComparisons = 32;
  return kComparisons * input_numbers(graph, node, 0);
}

}  // namespace

const OpParts kTopK{.normalize = normalize_topk,
                    .infer = infer_topk,
                    .evaluate = evaluate_topk,
                    .steps = topk_steps,
                    .traits = {.fits_half = false}};

}  // namespace kinglet::engine::ops
