// SPDX-License-Identifier: Apache-2.0
// com.microsoft's float operators, as ONNX Runtime's optimiser writes them into files: each becomes the ONNX operators
// it was fused from, at load, so that nothing later knows about them. What is left of the node keeps its name.
#include <array>
#include <numeric>

#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/ops/common.h"
#include "engine/ops/families/quantize16.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

// Only graphs made by hand get here: every file is normalised first.
Result<void> infer_fused(InferContext& context) { return context.refuse("stands for several operators of ONNX"); }

ValueId input_of(const Graph& graph, NodeId id, std::size_t i) {
  const Node& node = graph.node(id);
  return i < node.inputs.size() ? node.inputs[i] : kNoValue;
}

Result<void> need_inputs(const Graph& graph, NodeId id, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (input_of(graph, id, i) != kNoValue) continue;
    return refuse(graph, id, ErrorCode::kBadData, format_text("input {} is missing", i));
  }
  return {};
}

DataType type_of(const Graph& graph, NodeId id) { return graph.value(graph.node(id).inputs[0]).type; }

ValueId scalar(Graph& graph, NodeId id, std::string_view role, float value) {
  Tensor tensor =
      type_of(graph, id) == DataType::kF16 ? Tensor::of<Half>({}, {to_half(value)}) : Tensor::of<float>({}, {value});
  return add_node_constant(graph, id, role, std::move(tensor));
}

// --- Activations inside FusedConv and FusedGemm ----------------------------------------------------------------------

struct Activation {
  std::string op_type;  // empty: none
  Attributes attributes;
  std::optional<std::pair<float, float>> clip;
};

// `parameters` in the order in which ONNX Runtime writes them for each operator.
Result<Activation> activation_of(const Graph& graph, NodeId id, const std::vector<float>& parameters) {
  struct Row {
    std::string_view op_type;
    std::array<std::string_view, 2> parameters;
  };
  static constexpr std::array kRows{Row{"Relu", {}},
                                    Row{"Sigmoid", {}},
                                    Row{"Tanh", {}},
                                    Row{"Softplus", {}},
                                    Row{"Softsign", {}},
                                    Row{"LeakyRelu", {"alpha", ""}},
                                    Row{"Elu", {"alpha", ""}},
                                    Row{"ThresholdedRelu", {"alpha", ""}},
                                    Row{"HardSigmoid", {"alpha", "beta"}},
                                    Row{"Clip", {}}};
  Activation found{
      .op_type = std::string(graph.node(id).attributes.get_string("activation", "")), .attributes = {}, .clip = {}};
  if (found.op_type.empty()) return found;
  const auto row = std::ranges::find(kRows, found.op_type, &Row::op_type);
  if (row == kRows.end()) {
    return refuse(graph, id, ErrorCode::kUnsupported, format_text("has the unknown activation {}", found.op_type));
  }
  if (found.op_type == "Clip") {
    if (parameters.size() != 2) return refuse(graph, id, ErrorCode::kBadData, "Clip has not two bounds");
    found.clip = {parameters[0], parameters[1]};
  }
  for (std::size_t i = 0; i < parameters.size() && i < row->parameters.size(); ++i) {
    if (!row->parameters[i].empty()) found.attributes.set(std::string(row->parameters[i]), parameters[i]);
  }
  return found;
}

// op(inputs), and the activation behind it: the node becomes the last of them.
void apply(Graph& graph, NodeId id, std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes,
           Activation activation) {
  if (activation.op_type.empty()) return become(graph, id, op_type, inputs, std::move(attributes));
  const DataType type = type_of(graph, id);
  const ValueId made = insert_before(graph, id, op_type, std::move(inputs), std::move(attributes), type);
  std::vector<ValueId> operands{made};
  if (activation.clip) {
    operands.push_back(scalar(graph, id, "min", activation.clip->first));
    operands.push_back(scalar(graph, id, "max", activation.clip->second));
  }
  become(graph, id, activation.op_type, operands, std::move(activation.attributes));
}

Attributes without(const Attributes& attributes, std::string_view prefix) {
  Attributes left;
  for (const auto& [name, value] : attributes) {
    if (!name.starts_with(prefix)) left.set(name, value);
  }
  return left;
}

// x, weight, bias, sum: activation(Conv(x, weight, bias) + sum)
Result<void> normalize_fused_conv(Graph& graph, NodeId id, std::int64_t /*opset*/) {
  KINGLET_TRY(need_inputs(graph, id, 2));
  const Attributes& given = graph.node(id).attributes;
  Activation activation = KINGLET_TRY(activation_of(graph, id, given.get_floats("activation_params")));
  Attributes attributes = without(given, "activation");
  std::vector<ValueId> inputs(graph.node(id).inputs.begin(), graph.node(id).inputs.begin() + 2);
  if (input_of(graph, id, 2) != kNoValue) inputs.push_back(input_of(graph, id, 2));
  const ValueId sum = input_of(graph, id, 3);
  if (sum == kNoValue) {
    apply(graph, id, "Conv", std::move(inputs), std::move(attributes), std::move(activation));
    return {};
  }
  const ValueId conv = insert_before(graph, id, "Conv", std::move(inputs), std::move(attributes), type_of(graph, id));
  apply(graph, id, "Add", {conv, sum}, {}, std::move(activation));
  return {};
}

Result<void> normalize_fused_gemm(Graph& graph, NodeId id, std::int64_t /*opset*/) {
  KINGLET_TRY(need_inputs(graph, id, 2));
  const Attributes& given = graph.node(id).attributes;
  std::vector<float> parameters;
  for (const std::string_view name : {"activation_alpha", "activation_beta"}) {
    if (given.find(name) != nullptr) parameters.push_back(given.get_float(name, 0));
  }
  Activation activation = KINGLET_TRY(activation_of(graph, id, parameters));
  Attributes attributes = without(given, "activation");
  std::vector<ValueId> inputs = graph.node(id).inputs;
  apply(graph, id, "Gemm", std::move(inputs), std::move(attributes), std::move(activation));
  return {};
}

// --- FusedMatMul: alpha * a' * b'

// The last two dimensions swapped; vectors stay.
Result<ValueId> swap_last(Graph& graph, NodeId id, ValueId matrix) {
  const std::optional<Shape>& shape = graph.value(matrix).shape;
  if (!shape) return refuse(graph, id, ErrorCode::kUnsupported, "transposes an input of unknown rank");
  if (shape->size() < 2) return matrix;
  std::vector<std::int64_t> perm(shape->size());
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  Attributes attributes;
  attributes.set("perm", std::move(perm));
  return insert_before(graph, id, "Transpose", {matrix}, std::move(attributes), graph.value(matrix).type);
}

Result<void> normalize_fused_matmul(Graph& graph, NodeId id, std::int64_t /*opset*/) {
  KINGLET_TRY(need_inputs(graph, id, 2));
  const Attributes given = graph.node(id).attributes;
  if (given.get_int("transBatchA", 0) != 0 || given.get_int("transBatchB", 0) != 0) {
    return refuse(graph, id, ErrorCode::kUnsupported, "transposes its batch",
                  "save the model without layout optimisation");
  }
  ValueId a = input_of(graph, id, 0);
  ValueId b = input_of(graph, id, 1);
  if (given.get_int("transA", 0) != 0) a = KINGLET_TRY(swap_last(graph, id, a));
  if (given.get_int("transB", 0) != 0) b = KINGLET_TRY(swap_last(graph, id, b));
  const float alpha = given.get_float("alpha", 1);
  if (alpha == 1) {
    become(graph, id, "MatMul", {a, b}, {});
    return {};
  }
  const ValueId factor = scalar(graph, id, "alpha", alpha);
  const ValueId product = insert_before(graph, id, "MatMul", {a, b}, {}, type_of(graph, id));
  become(graph, id, "Mul", {product, factor}, {});
  return {};
}

// --- GELU and its friends

// x, or x + bias
ValueId with_bias(Graph& graph, NodeId id) {
  const ValueId x = input_of(graph, id, 0);
  const ValueId bias = input_of(graph, id, 1);
  return bias == kNoValue ? x : insert_before(graph, id, "Add", {x, bias}, {}, type_of(graph, id));
}

Result<void> normalize_gelu(Graph& graph, NodeId id, std::int64_t /*opset*/) {
  KINGLET_TRY(need_inputs(graph, id, 1));
  become(graph, id, "Gelu", {with_bias(graph, id)}, {});
  return {};
}

Result<void> normalize_fast_gelu(Graph& graph, NodeId id, std::int64_t /*opset*/) {
  KINGLET_TRY(need_inputs(graph, id, 1));
  Attributes attributes;
  attributes.set("approximate", std::string("tanh"));
  become(graph, id, "Gelu", {with_bias(graph, id)}, std::move(attributes));
  return {};
}

// x * sigmoid(alpha * x)
Result<void> normalize_quick_gelu(Graph& graph, NodeId id, std::int64_t /*opset*/) {
  KINGLET_TRY(need_inputs(graph, id, 1));
  const float alpha = graph.node(id).attributes.get_float("alpha", 1.702F);
  const ValueId x = input_of(graph, id, 0);
  const DataType type = type_of(graph, id);
  ValueId gate = x;
  if (alpha != 1) gate = insert_before(graph, id, "Mul", {x, scalar(graph, id, "alpha", alpha)}, {}, type);
  gate = insert_before(graph, id, "Sigmoid", {gate}, {}, type);
  become(graph, id, "Mul", {x, gate}, {});
  return {};
}

// --- SkipLayerNormalization: x, skip, scale, beta, bias -> y, mean, inverse deviation, x + skip + bias

Result<void> normalize_skip_layer_normalization(Graph& graph, NodeId id, std::int64_t /*opset*/) {
  KINGLET_TRY(need_inputs(graph, id, 3));
  const DataType type = type_of(graph, id);
  ValueId sum = insert_before(graph, id, "Add", {input_of(graph, id, 0), input_of(graph, id, 1)}, {}, type);
  if (const ValueId bias = input_of(graph, id, 4); bias != kNoValue) {
    sum = insert_before(graph, id, "Add", {sum, bias}, {}, type);
  }
  if (graph.node(id).outputs.size() > 3 && graph.node(id).outputs[3] != kNoValue) {
    const ValueId given = graph.node(id).outputs[3];
    graph.replace_uses(given, sum);
    if (graph.is_output(given)) graph.take_output(given, sum);
    graph.remove_output(id, 3);
  }
  Attributes attributes;
  attributes.set("axis", std::int64_t{-1});
  attributes.set("epsilon", graph.node(id).attributes.get_float("epsilon", 1e-12F));
  std::vector<ValueId> inputs{sum, input_of(graph, id, 2)};
  if (const ValueId beta = input_of(graph, id, 3); beta != kNoValue) inputs.push_back(beta);
  become(graph, id, "LayerNormalization", inputs, std::move(attributes));
  return {};
}

// --- QuantizeLinear, DequantizeLinear: those of ONNX -----------------------------------------------------------------

Result<void> normalize_to_onnx(Graph& graph, NodeId id, std::int64_t /*opset*/) {
  graph.set_op_type(id, "", graph.node(id).op_type);
  return take_out_16_bits(graph, id);
}

}  // namespace

const OpParts kMicrosoftBiasGelu{.normalize = normalize_gelu, .infer = infer_fused};
const OpParts kMicrosoftDequantizeLinear{.normalize = normalize_to_onnx, .infer = infer_fused};
const OpParts kMicrosoftFastGelu{.normalize = normalize_fast_gelu, .infer = infer_fused};
const OpParts kMicrosoftFusedConv{.normalize = normalize_fused_conv, .infer = infer_fused};
const OpParts kMicrosoftFusedGemm{.normalize = normalize_fused_gemm, .infer = infer_fused};
const OpParts kMicrosoftFusedMatMul{.normalize = normalize_fused_matmul, .infer = infer_fused};
const OpParts kMicrosoftGelu{.normalize = normalize_gelu, .infer = infer_fused};
const OpParts kMicrosoftQuantizeLinear{.normalize = normalize_to_onnx, .infer = infer_fused};
const OpParts kMicrosoftQuickGelu{.normalize = normalize_quick_gelu, .infer = infer_fused};
const OpParts kMicrosoftSkipLayerNormalization{.normalize = normalize_skip_layer_normalization, .infer = infer_fused};

}  // namespace kinglet::engine::ops
