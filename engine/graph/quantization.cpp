// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/quantization.h"

#include <algorithm>

namespace kinglet::engine {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr std::string_view kOwn = "kinglet";
constexpr std::size_t kNone = QLinearForm::kNone;
using Kind = QLinearKind;
constexpr std::array kForms{
    QLinearForm{Kind::kLayer, "", "QLinearConv", "Conv", 0, 3, 8, 6},
    QLinearForm{Kind::kLayer, "", "QLinearMatMul", "MatMul", 0, 3, kNone, 6},
    QLinearForm{Kind::kLayer, kMicrosoft, "QGemm", "Gemm", 0, 3, 6, 7},
    QLinearForm{Kind::kSum, kMicrosoft, "QLinearAdd", "Add", 0, 3, kNone, 6},
    QLinearForm{Kind::kProduct, kMicrosoft, "QLinearMul", "Mul", 0, 3, kNone, 6},
    QLinearForm{Kind::kTable, kMicrosoft, "QLinearSigmoid", "Sigmoid", 0, kNone, kNone, 3},
    QLinearForm{Kind::kTable, kMicrosoft, "QLinearLeakyRelu", "LeakyRelu", 0, kNone, kNone, 3},
    QLinearForm{Kind::kTable, kOwn, "QLinearHardSwish", "HardSwish", 0, kNone, kNone, 3},
    QLinearForm{Kind::kTable, kOwn, "QLinearTanh", "Tanh", 0, kNone, kNone, 3},
    QLinearForm{Kind::kRealOnly, kMicrosoft, "QLinearSoftmax", "Softmax", 0, kNone, kNone, 3},
    QLinearForm{Kind::kJoin, kMicrosoft, "QLinearConcat", "Concat", 2, kNone, kNone, 0},
    QLinearForm{Kind::kWindow, kMicrosoft, "QLinearAveragePool", "AveragePool", 0, kNone, kNone, 3},
    QLinearForm{Kind::kMean, kMicrosoft, "QLinearGlobalAveragePool", "GlobalAveragePool", 0, kNone, kNone, 3},
};

constexpr std::array<std::string_view, 10> kMoves{"MaxPool", "Reshape",   "Flatten", "Squeeze", "Unsqueeze",
                                                  "Slice",   "Transpose", "Concat",  "Split",   "Identity"};

constexpr int kFarthest = 16;  // nodes between a value and the one that explains it

std::optional<LinearQuantization> of_maker(const Graph& graph, ValueId id, int left) {
  const NodeId maker = graph.value(id).producer;
  if (maker == kNoNode || left == 0) return std::nullopt;
  const Node& node = graph.node(maker);
  if (node.domain.empty() && node.op_type == "QuantizeLinear") return quantization_at(graph, node, 1);
  if (const QLinearForm* form = qlinear_form(node)) return quantization_at(graph, node, form->y_scale);
  return keeps_levels(node) ? of_maker(graph, node.inputs[0], left - 1) : std::nullopt;
}

std::optional<LinearQuantization> of_reader(const Graph& graph, ValueId id, int left) {
  if (left == 0) return std::nullopt;
  for (const NodeId reader : graph.consumers(id)) {
    const Node& node = graph.node(reader);
    std::optional<LinearQuantization> found;
    if (node.domain.empty() && node.op_type == "DequantizeLinear" && node.inputs[0] == id) {
      found = quantization_at(graph, node, 1);
    } else if (qlinear_form(node) != nullptr) {
      const auto at = std::ranges::find(node.inputs, id) - node.inputs.begin();
      found = quantization_at(graph, node, static_cast<std::size_t>(at) + 1);
    } else if (keeps_levels(node) && !node.outputs.empty() && node.outputs[0] != kNoValue) {
      found = of_reader(graph, node.outputs[0], left - 1);
    }
    if (found) return found;
  }
  return std::nullopt;
}

bool counts_alike(const Node& average) {
  const Attributes& attributes = average.attributes;
  if (attributes.get_int("ceil_mode", 0) != 0 || attributes.get_ints("kernel_shape").size() != 2) return false;
  if (attributes.get_int("count_include_pad", 0) != 0) return true;
  const bool no_pads = std::ranges::all_of(attributes.get_ints("pads"), [](auto pad) { return pad == 0; });
  return no_pads && !attributes.get_string("auto_pad", "NOTSET").starts_with("SAME");
}

}  // namespace

std::span<const QLinearForm> qlinear_forms() { return kForms; }

const QLinearForm* qlinear_form(const Node& node) {
  const auto found = std::ranges::find_if(
      kForms, [&](const QLinearForm& form) { return form.domain == node.domain && form.op_type == node.op_type; });
  return found == kForms.end() ? nullptr : &*found;
}

const QLinearForm* qlinear_form_for(const Node& node) {
  if (!node.domain.empty() || (node.op_type == "AveragePool" && !counts_alike(node))) return nullptr;
  const auto found = std::ranges::find(kForms, node.op_type, &QLinearForm::becomes);
  return found == kForms.end() ? nullptr : &*found;
}

bool keeps_levels(const Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || !std::ranges::contains(kMoves, node.op_type)) return false;
  return node.op_type != "MaxPool" ||
         std::ranges::all_of(node.attributes.get_ints("dilations"), [](auto step) { return step == 1; });
}

bool is_all_zero(const Tensor& tensor) {
  return std::ranges::all_of(tensor.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::optional<LinearQuantization> quantization_at(const Graph& graph, const Node& node, std::size_t scale) {
  const auto one = [&](std::size_t input) -> const Tensor* {
    const Tensor* tensor = input < node.inputs.size() ? graph.constant(node.inputs[input]) : nullptr;
    return tensor != nullptr && tensor->element_count() == 1 ? tensor : nullptr;
  };
  const Tensor* number = one(scale);
  if (number == nullptr || number->type() != DataType::kF32) return std::nullopt;
  LinearQuantization out{.scale = number->data<float>()[0]};
  if (scale + 1 >= node.inputs.size() || node.inputs[scale + 1] == kNoValue) return out;
  const Tensor* zero = one(scale + 1);
  if (zero == nullptr) return std::nullopt;
  if (zero->type() == DataType::kI8) {
    out.zero_point = zero->data<std::int8_t>()[0];
  } else if (zero->type() == DataType::kU8) {
    out.zero_point = zero->data<std::uint8_t>()[0];
  } else {
    return std::nullopt;
  }
  return out;
}

std::optional<LinearQuantization> quantization_of(const Graph& graph, ValueId id) {
  if (const auto found = of_maker(graph, id, kFarthest)) return found;
  return of_reader(graph, id, kFarthest);
}

}  // namespace kinglet::engine
