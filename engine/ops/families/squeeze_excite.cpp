// SPDX-License-Identifier: Apache-2.0
// Squeeze and excite, the block by which a network weighs its channels, as one step. Session passes make it; files do
// not hold it.
//   x [N,C,H,W], w1 [S,C,1,1], b1 [S], w2 [C,S,1,1], b2 [C]  ->  x * gate(w2 * inner(w1 * mean(x) + b1) + b2)
// `inner` is Relu or Silu, `gate` is Sigmoid or Clip, which is to [0,1].
#include <algorithm>
#include <cmath>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

constexpr std::size_t kX = 0, kSqueeze = 1, kSqueezeBias = 2, kExcite = 3, kExciteBias = 4;

bool has_silu(const Node& node) { return node.attributes.get_string("inner", "Relu") == "Silu"; }
bool has_sigmoid(const Node& node) { return node.attributes.get_string("gate", "Sigmoid") == "Sigmoid"; }

Result<void> need_shape(const InferContext& context, std::size_t input, const Shape& shape) {
  const std::optional<Shape>& found = context.input_shape(input);
  if (found && *found != shape) return context.fail(format_text("input {} has another shape than it needs", input));
  return {};
}

Result<void> infer_squeeze_excite(InferContext& context) {
  KINGLET_TRY(need_type(context, kX, {DataType::kF32}));
  KINGLET_TRY(need_rank(context, kX, 4, 4));
  for (const std::size_t input : {kSqueeze, kSqueezeBias, kExcite, kExciteBias})
    KINGLET_TRY(need_type_of(context, input, kX));
  KINGLET_TRY(need_rank(context, kSqueezeBias, 1, 1));
  const std::string_view inner = context.attributes().get_string("inner", "Relu");
  const std::string_view gate = context.attributes().get_string("gate", "Sigmoid");
  if ((inner != "Relu" && inner != "Silu") || (gate != "Sigmoid" && gate != "Clip"))
    return context.fail("activations are Relu or Silu, and Sigmoid or Clip");
  const std::optional<Shape>& x = context.input_shape(kX);
  const std::optional<Shape>& bias = context.input_shape(kSqueezeBias);
  if (x && (*x)[1] != kUnknownDim && bias) {
    const Dim channels = (*x)[1];
    const Dim squeezed = (*bias)[0];
    KINGLET_TRY(need_shape(context, kSqueeze, {squeezed, channels, 1, 1}));
    KINGLET_TRY(need_shape(context, kExcite, {channels, squeezed, 1, 1}));
    KINGLET_TRY(need_shape(context, kExciteBias, {channels}));
  }
  context.set_output(0, context.input_type(kX), x);
  return {};
}

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

// weights * numbers + bias
std::vector<double> product(const Tensor& weights, const Tensor& bias, std::span<const double> numbers) {
  std::vector<double> sums(bias.data<float>().begin(), bias.data<float>().end());
  const float* weight = weights.data<float>().data();
  for (double& sum : sums) {
    for (const double number : numbers) sum += static_cast<double>(*weight++) * number;
  }
  return sums;
}

Result<void> evaluate_squeeze_excite(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[kX]->shape();
  const auto channels = static_cast<std::size_t>(shape[1]);
  const auto pixels = static_cast<std::size_t>(shape[2] * shape[3]);
  const float* from = inputs[kX]->data<float>().data();
  float* to = outputs[0].mutable_data<float>().data();
  for (Dim image = 0; image < shape[0]; ++image) {
    std::vector<double> means(channels);
    for (std::size_t i = 0; i < channels * pixels; ++i) means[i / pixels] += static_cast<double>(from[i]);
    for (double& mean : means) mean /= static_cast<double>(pixels);
    std::vector<double> squeezed = product(*inputs[kSqueeze], *inputs[kSqueezeBias], means);
    for (double& x : squeezed) x = has_silu(node) ? x * sigmoid(x) : std::max(x, 0.0);
    std::vector<double> gates = product(*inputs[kExcite], *inputs[kExciteBias], squeezed);
    for (double& x : gates) x = has_sigmoid(node) ? sigmoid(x) : std::clamp(x, 0.0, 1.0);
    for (std::size_t i = 0; i < channels * pixels; ++i)
      to[i] = static_cast<float>(static_cast<double>(from[i]) * gates[i / pixels]);
    from += channels * pixels;
    to += channels * pixels;
  }
  return {};
}

// One of the two products, of a picture of one pixel.
Result<Operand> lower_product(SubgraphBuilder& builder, const Tensor& weights, const Tensor& bias, xnn::Range range,
                              Operand input) {
  const Dims of_weights = dims_of(weights.shape());
  const Operand filter =
      KINGLET_TRY(builder.constant(weights, {of_weights[0], 1, 1, of_weights[1]}, Lifetime::kUntilPacked));
  const Operand summand = KINGLET_TRY(builder.constant(bias, {of_weights[0]}, Lifetime::kUntilPacked));
  const Operand output = KINGLET_TRY(builder.temporary({builder.dims(input)[0], 1, 1, of_weights[0]}));
  KINGLET_TRY(builder.convolution({}, 1, range, input, filter, summand, output));
  return output;
}

Result<Operand> lower_sigmoid(SubgraphBuilder& builder, Operand input) {
  const Operand output = KINGLET_TRY(builder.temporary(Dims(builder.dims(input))));
  KINGLET_TRY(builder.unary(xnn_unary_sigmoid, {}, input, output));
  return output;
}

Result<bool> lower_squeeze_excite(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto numbers = [&](std::size_t input) { return constant_input(graph, node, input); };
  for (const std::size_t input : {kSqueeze, kSqueezeBias, kExcite, kExciteBias}) {
    if (numbers(input) == nullptr) return false;
  }
  const Operand input = KINGLET_TRY(builder.input(node.inputs[kX], Layout::kNhwc));
  const Dims& dims = builder.dims(input);
  const Operand mean = KINGLET_TRY(builder.temporary({dims[0], 1, 1, dims[3]}));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.reduce(xnn_reduce_mean, {1, 2}, true, input, mean));
  const xnn::Range inner = has_silu(node) ? xnn::Range{} : xnn::Range{.min = 0};
  Operand squeezed = KINGLET_TRY(lower_product(builder, *numbers(kSqueeze), *numbers(kSqueezeBias), inner, mean));
  if (has_silu(node)) {
    const Operand sigmoid = KINGLET_TRY(lower_sigmoid(builder, squeezed));
    const Operand silu = KINGLET_TRY(builder.temporary(Dims(builder.dims(squeezed))));
    KINGLET_TRY(builder.binary(xnn_binary_multiply, squeezed, sigmoid, silu));
    squeezed = silu;
  }
  const xnn::Range bounds = has_sigmoid(node) ? xnn::Range{} : xnn::Range{.min = 0, .max = 1};
  Operand gates = KINGLET_TRY(lower_product(builder, *numbers(kExcite), *numbers(kExciteBias), bounds, squeezed));
  if (has_sigmoid(node)) gates = KINGLET_TRY(lower_sigmoid(builder, gates));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, input, gates, output));
  return true;
}

// Of both products; what the mean adds up and the gates multiply is none with weights.
std::int64_t squeeze_excite_multiply_adds(const Graph& graph, const Node& node) {
  const std::optional<Shape>& x = graph.value(node.inputs[kX]).shape;
  const std::optional<Shape>& bias = graph.value(node.inputs[kSqueezeBias]).shape;
  const bool known = x && bias && is_static(*x) && is_static(*bias);
  return known ? 2 * (*x)[0] * (*x)[1] * (*bias)[0] : 0;
}

}  // namespace

const OpParts kSqueezeExcite{.infer = infer_squeeze_excite,
                             .evaluate = evaluate_squeeze_excite,
                             .lower = lower_squeeze_excite,
                             .traits = {.dims = DimRule::kLikeFirst},
                             .multiply_adds = squeeze_excite_multiply_adds};

}  // namespace kinglet::engine::ops
