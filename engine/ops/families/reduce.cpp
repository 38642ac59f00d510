// SPDX-License-Identifier: Apache-2.0
// Reductions over axes (Reduce*), and along one axis: ArgMax, ArgMin, CumSum. Sums are taken in double.
#include <algorithm>
#include <cmath>
#include <format>
#include <limits>

#include "engine/ops/common.h"
#include "engine/ops/families/from_real.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

// --- Reduce*: data, axes (none: all, unless noop_with_empty_axes) ---------------------------------------------------

template <std::int64_t kAxesSince>
Result<void> normalize_reduce(Graph& graph, NodeId id, std::int64_t opset) {
  if (opset < kAxesSince) ints_to_input(graph, id, "axes", 1);
  return {};
}

bool keeps_dims(const Attributes& attributes) { return attributes.get_int("keepdims", 1) != 0; }

// Which axes are reduced; `axes` is the second input's numbers, checked, or nullptr.
std::vector<bool> reduced_axes(const Attributes& attributes, const Tensor* axes, std::size_t rank) {
  const bool none = axes == nullptr || axes->element_count() == 0;
  if (none) return std::vector<bool>(rank, attributes.get_int("noop_with_empty_axes", 0) == 0);
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t axis : axes->to_int64s()) reduced[axis_index(axis, rank)] = true;
  return reduced;
}

template <TypeSet kTypes>
Result<void> infer_reduce(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kTypes));
  if (context.has_input(1)) KINGLET_TRY(need_type(context, 1, kIndices));
  const std::optional<Shape>& x = context.input_shape(0);
  const Tensor* axes = context.input_constant(1);
  std::optional<Shape> out;
  if (x && (axes != nullptr || !context.has_input(1))) {
    if (axes != nullptr) KINGLET_TRY(checked_axes(context, axes->to_int64s(), x->size()));
    const std::vector<bool> reduced = reduced_axes(context.attributes(), axes, x->size());
    out.emplace();
    for (std::size_t i = 0; i < x->size(); ++i) {
      if (!reduced[i]) out->push_back((*x)[i]);
      if (reduced[i] && keeps_dims(context.attributes())) out->push_back(1);
    }
  } else if (x && keeps_dims(context.attributes())) {
    out.emplace(x->size(), kUnknownDim);
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

// f(input offset, output index) for each element of x.
template <typename F>
void for_each_reduced(const Node& node, Inputs inputs, F f) {
  const Shape& shape = inputs[0]->shape();
  const std::vector<bool> reduced =
      reduced_axes(node.attributes, inputs.size() > 1 ? inputs[1] : nullptr, shape.size());
  std::vector<std::int64_t> to(shape.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (reduced[i]) continue;
    to[i] = stride;
    stride *= shape[i];
  }
  std::size_t from = 0;
  walk<1>(shape, {to}, [&](const auto& at) { f(from++, static_cast<std::size_t>(at[0])); });
}

// step(accumulator, x), then finish(accumulator, how many numbers went in).
template <typename Step, typename Finish>
Result<void> reduce(const Node& node, Inputs inputs, Tensor& y, double start, Step step, Finish finish) {
  std::vector<double> sums(static_cast<std::size_t>(y.element_count()), start);
  visit_type(y.type(), [&]<typename T>() {
    const auto from = inputs[0]->data<T>();
    for_each_reduced(node, inputs,
                     [&](std::size_t i, std::size_t at) { step(sums[at], static_cast<double>(from[i])); });
    const double count = sums.empty() ? 0 : static_cast<double>(from.size()) / static_cast<double>(sums.size());
    const auto to = y.mutable_data<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      const double value = finish(sums[i], count);
      if constexpr (std::is_same_v<T, bool>) {
        to[i] = value != 0;
      } else {
        to[i] = from_real<T>(value);
      }
    }
  });
  return {};
}

constexpr auto kPlain = [](double sum, double /*count*/) { return sum; };

Result<void> evaluate_sum(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  return reduce(node, inputs, outputs[0], 0, [](double& sum, double x) { sum += x; }, kPlain);
}
Result<void> evaluate_mean(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  return reduce(
      node, inputs, outputs[0], 0, [](double& sum, double x) { sum += x; },
      [](double sum, double count) { return sum / count; });
}
Result<void> evaluate_prod(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  return reduce(node, inputs, outputs[0], 1, [](double& product, double x) { product *= x; }, kPlain);
}
Result<void> evaluate_l1(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  return reduce(node, inputs, outputs[0], 0, [](double& sum, double x) { sum += std::abs(x); }, kPlain);
}
Result<void> evaluate_l2(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  return reduce(
      node, inputs, outputs[0], 0, [](double& sum, double x) { sum += x * x; },
      [](double sum, double /*count*/) { return std::sqrt(sum); });
}
Result<void> evaluate_sum_square(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  return reduce(node, inputs, outputs[0], 0, [](double& sum, double x) { sum += x * x; }, kPlain);
}
Result<void> evaluate_log_sum(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  return reduce(
      node, inputs, outputs[0], 0, [](double& sum, double x) { sum += x; },
      [](double sum, double /*count*/) { return std::log(sum); });
}

// The largest is taken out first, so that no exponential overflows.
Result<void> evaluate_log_sum_exp(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const auto count = static_cast<std::size_t>(outputs[0].element_count());
  std::vector<double> top(count, -std::numeric_limits<double>::infinity());
  const auto as_double = [&](auto f) {
    visit_type(inputs[0]->type(), [&]<typename T>() {
      const auto from = inputs[0]->data<T>();
      for_each_reduced(node, inputs, [&](std::size_t i, std::size_t at) { f(static_cast<double>(from[i]), at); });
    });
  };
  as_double([&](double x, std::size_t at) { top[at] = std::max(top[at], x); });
  std::vector<double> sums(count, 0.0);
  as_double([&](double x, std::size_t at) { sums[at] += std::isinf(top[at]) ? std::exp(x) : std::exp(x - top[at]); });
  visit_type(outputs[0].type(), [&]<typename T>() {
    if constexpr (!std::is_same_v<T, bool>) {
      const auto to = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < count; ++i) {
        to[i] = from_real<T>(std::isinf(top[i]) ? std::log(sums[i]) : top[i] + std::log(sums[i]));
      }
    }
  });
  return {};
}

// In the type itself, so that 64-bit integers keep every digit. NaN wins.
template <bool kMaximum>
Result<void> evaluate_extreme(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  visit_type(outputs[0].type(), [&]<typename T>() {
    using Limits = std::numeric_limits<T>;
    const T lowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    const T highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
    const auto from = inputs[0]->data<T>();
    const auto to = outputs[0].mutable_data<T>();
    std::ranges::fill(to, kMaximum ? lowest : highest);
    for_each_reduced(node, inputs, [&](std::size_t i, std::size_t at) {
      const bool better = kMaximum ? from[i] > to[at] : from[i] < to[at];
      if (better || from[i] != from[i]) to[at] = from[i];
    });
  });
  return {};
}

// The axes it reduces, logical, sorted; nothing when they are computed.
std::optional<std::vector<std::size_t>> constant_axes(const Graph& graph, const Node& node, std::size_t rank) {
  const Tensor* given = constant_input(graph, node, 1);
  if (given == nullptr && is_given(node, 1)) return std::nullopt;
  const std::vector<bool> reduced = reduced_axes(node.attributes, given, rank);
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (reduced[axis]) axes.push_back(axis);
  }
  return axes;
}

// The axes left over have the same order in memory as in the shape.
bool keeps_order(const std::vector<std::size_t>& physical_axes, Layout layout) {
  if (layout == Layout::kLogical) return true;
  std::vector<std::size_t> left;
  for (std::size_t place = 0; place < 4; ++place) {
    if (!std::ranges::contains(physical_axes, place)) left.push_back(logical_axis(place, layout));
  }
  return std::ranges::is_sorted(left);
}

std::vector<std::size_t> to_physical(const std::vector<std::size_t>& axes, Layout layout) {
  std::vector<std::size_t> out;
  out.reserve(axes.size());
  for (const std::size_t axis : axes) out.push_back(physical_axis(axis, layout));
  std::ranges::sort(out);
  return out;
}

// What is summed, and what is done with the sum.
enum class Around : std::uint8_t { kNothing, kSquares, kNorm };

template <xnn_reduce_operator kType, Around kAround = Around::kNothing>
Result<bool> lower_reduce(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId value = node.inputs[0];
  const auto axes = constant_axes(graph, node, graph.value(value).shape->size());
  if (!axes || axes->empty()) return false;
  const bool keep = keeps_dims(node.attributes);
  if (!keep && axes->size() == graph.value(value).shape->size()) return false;
  Layout layout = keep ? builder.layout(node.outputs[0]) : builder.layout(value);
  if (!keep && !keeps_order(to_physical(*axes, layout), layout)) layout = Layout::kLogical;
  Operand input = KINGLET_TRY(builder.input(value, layout));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  if (kAround != Around::kNothing) {
    const Operand squares = KINGLET_TRY(builder.temporary(Dims(builder.dims(input))));
    KINGLET_TRY(builder.unary(xnn_unary_square, {}, input, squares));
    input = squares;
  }
  const Operand sum = kAround == Around::kNorm ? KINGLET_TRY(builder.temporary(Dims(builder.dims(output)))) : output;
  KINGLET_TRY(builder.reduce(kType, to_physical(*axes, layout), keep, input, sum));
  if (kAround == Around::kNorm) KINGLET_TRY(builder.unary(xnn_unary_square_root, {}, sum, output));
  return true;
}

// --- ArgMax, ArgMin -------------------------------------------------------------------------------------------------

Result<void> infer_arg(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kNumbers));
  std::optional<Shape> out = context.input_shape(0);
  if (out) {
    const std::size_t axis = KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", 0), out->size()));
    if ((*out)[axis] == 0) return context.fail("looks for the extreme of an empty axis");
    if (keeps_dims(context.attributes())) {
      (*out)[axis] = 1;
    } else {
      out->erase(out->begin() + static_cast<std::ptrdiff_t>(axis));
    }
  }
  context.set_output(0, DataType::kI64, out);
  return {};
}

template <bool kMaximum>
Result<void> evaluate_arg(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0]->shape();
  const AxisView view = view_axis(shape, axis_index(node.attributes.get_int("axis", 0), shape.size()));
  const bool take_last = node.attributes.get_int("select_last_index", 0) != 0;
  const auto to = outputs[0].mutable_data<std::int64_t>();
  visit_type(inputs[0]->type(), [&]<typename T>() {
    const T* from = inputs[0]->data<T>().data();
    for (std::int64_t i = 0; i < view.outer * view.inner; ++i) {
      const T* line = from + i / view.inner * view.length * view.inner + i % view.inner;
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < view.length; ++k) {
        const T value = line[k * view.inner];
        const T so_far = line[best * view.inner];
        const bool better = kMaximum ? value > so_far : value < so_far;
        if (better || (take_last && value == so_far)) best = k;
      }
      to[static_cast<std::size_t>(i)] = best;
    }
  });
  return {};
}

// --- CumSum: data, axis ---------------------------------------------------------------------------------------------

Result<void> infer_cumsum(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, {DataType::kF32, DataType::kF16, DataType::kI64, DataType::kI32}));
  KINGLET_TRY(need_type(context, 1, kIndices));
  if (const Tensor* axis = context.input_constant(1); axis != nullptr && context.input_shape(0)) {
    if (axis->element_count() != 1) return context.fail("the axis is not one number");
    KINGLET_TRY(checked_axis(context, axis->to_int64s()[0], context.input_shape(0)->size()));
  }
  context.set_output(0, context.input_type(0), context.input_shape(0));
  return {};
}

Result<void> evaluate_cumsum(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0]->shape();
  const AxisView view = view_axis(shape, axis_index(inputs[1]->to_int64s()[0], shape.size()));
  const bool exclusive = node.attributes.get_int("exclusive", 0) != 0;
  const bool reverse = node.attributes.get_int("reverse", 0) != 0;
  visit_type(outputs[0].type(), [&]<typename T>() {
    using Sum = std::conditional_t<std::is_same_v<T, float>, double, std::uint64_t>;
    const T* from = inputs[0]->data<T>().data();
    T* to = outputs[0].mutable_data<T>().data();
    for (std::int64_t i = 0; i < view.outer * view.inner; ++i) {
      const std::int64_t start = i / view.inner * view.length * view.inner + i % view.inner;
      Sum sum{};
      for (std::int64_t k = 0; k < view.length; ++k) {
        const std::int64_t at = start + (reverse ? view.length - 1 - k : k) * view.inner;
        const Sum next = sum + static_cast<Sum>(from[at]);
        to[at] = static_cast<T>(exclusive ? sum : next);
        sum = next;
      }
    }
  });
  return {};
}

constexpr OpParts reduction(Normalize normalize, Infer infer, Evaluate evaluate, Lower lower = nullptr,
                            Numbers numbers = Numbers::kOther) {
  return {.normalize = normalize,
          .infer = infer,
          .evaluate = evaluate,
          .lower = lower,
          .traits = {.dims = DimRule::kReduced, .numbers = numbers}};
}

}  // namespace

const OpParts kReduceL1 = reduction(normalize_reduce<18>, infer_reduce<kNumbers>, evaluate_l1);
const OpParts kReduceL2 =
    reduction(normalize_reduce<18>, infer_reduce<kNumbers>, evaluate_l2, lower_reduce<xnn_reduce_sum, Around::kNorm>);
const OpParts kReduceLogSum = reduction(normalize_reduce<18>, infer_reduce<kNumbers>, evaluate_log_sum);
const OpParts kReduceLogSumExp = reduction(normalize_reduce<18>, infer_reduce<kNumbers>, evaluate_log_sum_exp);
const OpParts kReduceMax =
    reduction(normalize_reduce<18>, infer_reduce<kAnyType>, evaluate_extreme<true>, nullptr, Numbers::kPicked);
const OpParts kReduceMean = reduction(normalize_reduce<18>, infer_reduce<kNumbers>, evaluate_mean,
                                      lower_reduce<xnn_reduce_mean>, Numbers::kMeans);
const OpParts kReduceMin =
    reduction(normalize_reduce<18>, infer_reduce<kAnyType>, evaluate_extreme<false>, nullptr, Numbers::kPicked);
const OpParts kReduceProd = reduction(normalize_reduce<18>, infer_reduce<kNumbers>, evaluate_prod);
const OpParts kReduceSum =
    reduction(normalize_reduce<13>, infer_reduce<kNumbers>, evaluate_sum, lower_reduce<xnn_reduce_sum>);
const OpParts kReduceSumSquare = reduction(normalize_reduce<18>, infer_reduce<kNumbers>, evaluate_sum_square,
                                           lower_reduce<xnn_reduce_sum, Around::kSquares>);
const OpParts kArgMax{.infer = infer_arg, .evaluate = evaluate_arg<true>};
const OpParts kArgMin{.infer = infer_arg, .evaluate = evaluate_arg<false>};
const OpParts kCumSum{.infer = infer_cumsum, .evaluate = evaluate_cumsum, .traits = {.fits_half = false}};

}  // namespace kinglet::engine::ops
