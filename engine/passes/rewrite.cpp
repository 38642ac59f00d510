// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/rewrite.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/graph/fused_clip.h"

namespace kinglet::engine {

bool PassBudget::take_fold(double bytes, double steps) {
  if (bytes > fold_left_.bytes || steps > fold_left_.steps) return false;
  fold_left_.bytes -= bytes;
  fold_left_.steps -= steps;
  return true;
}

void PassBudget::spend(std::string node, std::string op_type) {
  KINGLET_CHECK(left_ > 0);
  --left_;
  rewrites_.push_back({.pass = pass_, .node = std::move(node), .op_type = std::move(op_type)});
}

bool is_op(const Node& node, std::string_view op_type) { return node.domain.empty() && node.op_type == op_type; }

bool is_any_of(const Node& node, std::initializer_list<std::string_view> op_types) {
  return node.domain.empty() && std::ranges::find(op_types, node.op_type) != op_types.end();
}

Result<int> NodePass::operator()(Graph& graph, PassBudget& budget) const {
  if (!budget.may_use_opset(since_)) return 0;
  const auto op_types = std::span(op_types_).first(op_type_count_);
  const auto asked = [&](const Node& node) {
    return asked_ != nullptr ? asked_(node) : node.domain.empty() && std::ranges::contains(op_types, node.op_type);
  };
  return rewrite_nodes(graph, budget, asked, try_rewrite_);
}

bool has_fused_clip(const Node& node) { return !fused_clip(node).open(); }

const Tensor* fixed_constant(const Graph& graph, ValueId id) {
  const Tensor* constant = graph.constant(id);
  return constant != nullptr && !graph.is_input(id) ? constant : nullptr;
}

bool has_input(const Node& node, std::size_t index) {
  return index < node.inputs.size() && node.inputs[index] != kNoValue;
}

const Tensor* fixed_input(const Graph& graph, const Node& node, std::size_t index) {
  return has_input(node, index) ? fixed_constant(graph, node.inputs[index]) : nullptr;
}

NodeId producer_of(const Graph& graph, ValueId id, std::initializer_list<std::string_view> op_types) {
  return producer_of(graph, id, [&](const Node& node) { return is_any_of(node, op_types); });
}

NodeId inner_producer(const Graph& graph, ValueId id, std::initializer_list<std::string_view> op_types) {
  return inner_producer(graph, id, [&](const Node& node) { return is_any_of(node, op_types); });
}

bool is_float(DataType type) { return type == DataType::kF32 || type == DataType::kF16; }

std::optional<std::vector<double>> per_channel(const Tensor& constant, std::size_t rank, Dim channels) {
  const Shape& shape = constant.shape();
  if (!is_float(constant.type()) || shape.size() > rank || rank < 2 || channels < 1) return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool channel_axis = i + (rank - shape.size()) == 1;
    if (shape[i] != 1 && !(channel_axis && shape[i] == channels)) return std::nullopt;
  }
  const std::vector<float> floats = constant.to_floats();
  std::vector<double> numbers(floats.begin(), floats.end());
  if (numbers.size() == 1) numbers.assign(static_cast<std::size_t>(channels), numbers[0]);
  return numbers;
}

namespace {

float as_float(float number) { return number; }
float as_float(Half number) { return to_float(number); }

template <typename T>
T rounded(double number) {
  if constexpr (std::is_same_v<T, Half>) return to_half(static_cast<float>(number));
  return static_cast<T>(number);
}

template <typename T>
bool fill(std::span<const double> numbers, std::span<T> out) {
  std::ranges::transform(numbers, out.begin(), rounded<T>);
  return std::ranges::all_of(out, [](T number) { return std::isfinite(as_float(number)); });
}

// The bits of a magnitude, which order as magnitudes do; those of infinity and NaN come last.
std::uint32_t magnitude_bits(float number) { return std::bit_cast<std::uint32_t>(number) & 0x7FFFFFFFU; }
std::uint32_t magnitude_bits(Half number) { return std::to_underlying(number) & 0x7FFFU; }

// f(numbers of one factor, the factor): `inner` numbers each, over and over.
template <typename Numbers, typename F>
void for_each_factor(Numbers numbers, std::span<const double> factor, std::size_t inner, F f) {
  for (std::size_t i = 0; i < numbers.size();) {
    for (const double by : factor) {
      f(numbers.subspan(i, inner), by);
      i += inner;
    }
  }
}

template <typename T>
bool scale_numbers(Tensor& tensor, std::span<const double> factor, std::size_t inner) {
  bool finite = true;
  for_each_factor(tensor.data<T>(), factor, inner, [&](std::span<const T> numbers, double by) {
    const T largest = std::ranges::max(numbers, {}, [](T number) { return magnitude_bits(number); });
    finite = finite && std::isfinite(as_float(rounded<T>(static_cast<double>(as_float(largest)) * by)));
  });
  if (!finite) return false;
  for_each_factor(tensor.mutable_data<T>(), factor, inner, [](std::span<T> numbers, double by) {
    for (T& number : numbers) number = rounded<T>(static_cast<double>(as_float(number)) * by);
  });
  return true;
}

}  // namespace

std::optional<Tensor> make_finite(DataType type, Shape shape, std::span<const double> numbers) {
  Tensor out(type, std::move(shape));
  KINGLET_CHECK(static_cast<std::size_t>(out.element_count()) == numbers.size());
  const bool finite =
      type == DataType::kF32 ? fill(numbers, out.mutable_data<float>()) : fill(numbers, out.mutable_data<Half>());
  return finite ? std::optional(std::move(out)) : std::nullopt;
}

bool scale(Tensor& tensor, std::span<const double> factor, std::size_t axis) {
  const Shape& shape = tensor.shape();
  KINGLET_CHECK(static_cast<std::size_t>(shape.at(axis)) == factor.size());
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  if (tensor.element_count() == 0) return true;
  return tensor.type() == DataType::kF32 ? scale_numbers<float>(tensor, factor, inner)
                                         : scale_numbers<Half>(tensor, factor, inner);
}

namespace {

std::vector<double> to_doubles(const Tensor& tensor) {
  const std::vector<float> floats = tensor.to_floats();
  return {floats.begin(), floats.end()};
}

// False, with the graph untouched, when a result is not finite.
bool scale_weight(Graph& graph, NodeId conv, std::span<const double> factor) {
  const ValueId id = graph.node(conv).inputs[1];
  Tensor weight = *graph.constant(id);
  const bool is_own = graph.has_single_use(id);
  if (is_own) graph.set_constant(id, Tensor(weight.type(), {0}));  // so that `weight` alone may own its numbers
  const bool finite = scale(weight, factor, 0);
  if (is_own || finite) put_constant(graph, conv, 1, std::move(weight), "weight");
  return finite;
}

}  // namespace

bool scale_and_shift_conv(Graph& graph, NodeId id, std::span<const double> factor, std::span<const double> shift) {
  const Node& conv = graph.node(id);
  const Tensor* weight = fixed_input(graph, conv, 1);
  const Tensor* bias = fixed_input(graph, conv, 2);
  if (weight == nullptr || !is_float(weight->type()) || weight->shape().empty() || weight->element_count() == 0) {
    return false;
  }
  const DataType type = weight->type();
  const auto channels = static_cast<std::size_t>(weight->shape()[0]);
  if (has_input(conv, 2) && (bias == nullptr || bias->type() != type || bias->shape() != Shape{weight->shape()[0]})) {
    return false;
  }
  KINGLET_CHECK(factor.empty() || factor.size() == channels);
  std::optional<Tensor> new_bias;
  if (bias != nullptr || !shift.empty()) {
    std::vector<double> numbers = bias != nullptr ? to_doubles(*bias) : std::vector<double>(channels, 0.0);
    for (std::size_t c = 0; c < channels; ++c) {
      if (!factor.empty()) numbers[c] *= factor[c];
      if (!shift.empty()) numbers[c] += shift[c];
    }
    new_bias = make_finite(type, {static_cast<Dim>(channels)}, numbers);
    if (!new_bias) return false;
  }
  if (!factor.empty() && !scale_weight(graph, id, factor)) return false;
  if (new_bias) put_constant(graph, id, 2, *std::move(new_bias), "bias");
  return true;
}

std::optional<ChannelAffine> affine_of_bn(const Graph& graph, const Node& bn) {
  if (bn.attributes.get_int("training_mode", 0) != 0 || bn.outputs.size() != 1 || bn.inputs.size() != 5) {
    return std::nullopt;
  }
  std::vector<std::vector<double>> parameters;  // scale, shift, mean, variance
  for (std::size_t i = 1; i < 5; ++i) {
    const Tensor* constant = fixed_input(graph, bn, i);
    if (constant == nullptr || !is_float(constant->type()) || constant->shape().size() != 1) return std::nullopt;
    parameters.push_back(to_doubles(*constant));
    if (parameters.back().size() != parameters.front().size()) return std::nullopt;
  }
  const auto epsilon = static_cast<double>(bn.attributes.get_float("epsilon", 1e-5F));
  ChannelAffine affine;
  for (std::size_t c = 0; c < parameters[0].size(); ++c) {
    const double spread = parameters[3][c] + epsilon;
    if (!(spread > 0) || !std::isfinite(spread)) return std::nullopt;
    affine.factor.push_back(parameters[0][c] / std::sqrt(spread));
    affine.shift.push_back(parameters[1][c] - parameters[2][c] * affine.factor[c]);
  }
  return affine;
}

std::optional<ConvAndConstant> match_conv_and_constant(const Graph& graph, const Node& node, bool either_side) {
  for (const std::size_t side : {0U, 1U}) {
    if (side == 1 && !either_side) break;
    const ValueId product = node.inputs[side];
    const NodeId conv = inner_producer(graph, product, {"Conv"});
    const Tensor* constant = fixed_input(graph, node, 1 - side);
    if (conv == kNoNode || constant == nullptr) continue;
    const std::optional<Shape>& weight = graph.value(graph.node(conv).inputs[1]).shape;
    if (!weight || weight->empty()) continue;
    std::optional<std::vector<double>> numbers = per_channel(*constant, weight->size(), (*weight)[0]);
    if (numbers) return ConvAndConstant{.conv = conv, .numbers = *std::move(numbers)};
  }
  return std::nullopt;
}

void put_constant(Graph& graph, NodeId id, std::size_t index, Tensor tensor, std::string_view fallback_name) {
  if (graph.node(id).inputs.size() <= index) graph.resize_inputs(id, index + 1);
  const ValueId old = graph.node(id).inputs[index];
  if (old == kNoValue) {
    std::string name = format_text("{}.{}", graph.node(id).name, fallback_name);
    graph.set_input(id, index, graph.add_constant(std::move(name), std::move(tensor)));
    return;
  }
  if (fixed_constant(graph, old) != nullptr && graph.has_single_use(old)) {
    graph.set_constant(old, std::move(tensor));
    return;
  }
  std::string name = graph.value(old).name;
  graph.set_input(id, index, graph.add_constant(std::move(name), std::move(tensor)));
}

std::vector<std::int64_t> perm_of(const Graph& graph, const Node& transpose) {
  std::vector<std::int64_t> perm = transpose.attributes.get_ints("perm");
  const std::optional<Shape>& shape = graph.value(transpose.inputs[0]).shape;
  if (!perm.empty() || !shape) return perm;
  for (std::size_t axis = shape->size(); axis-- > 0;) perm.push_back(static_cast<std::int64_t>(axis));
  return perm;
}

bool can_replace(const Graph& graph, ValueId old, ValueId replacement) {
  if (old == replacement || graph.value(old).type != graph.value(replacement).type) return false;
  if (!graph.is_output(old)) return true;
  return !graph.is_output(replacement) && !graph.is_input(replacement) && graph.constant(replacement) == nullptr;
}

void replace_value(Graph& graph, ValueId old, ValueId replacement) {
  KINGLET_CHECK(can_replace(graph, old, replacement));
  if (graph.is_output(old)) graph.take_output(old, replacement);
  graph.replace_uses(old, replacement);
}

bool bypass_node(Graph& graph, NodeId id, ValueId replacement) {
  const ValueId output = graph.node(id).outputs[0];
  if (!can_replace(graph, output, replacement)) return false;
  replace_value(graph, output, replacement);
  graph.remove_node(id);
  return true;
}

}  // namespace kinglet::engine
