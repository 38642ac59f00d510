// SPDX-License-Identifier: Apache-2.0
// One rule an operator: what changed in it, newest change first. Sources: the operator documents of ONNX, "Changelog".
#include "engine/onnx/older/older_forms.h"

#include <array>

#include "engine/onnx/import.h"
#include "engine/onnx/older/older_forms_writer.h"
#include "engine/onnx/save.h"

namespace kinglet::engine {
namespace {

struct Since {
  std::string_view op_type;
  std::int64_t opset;
};
constexpr Since kSince[] = {
#define OPERATOR(op_type, opset) {#op_type, opset},
#include "engine/onnx/older/older_operators.def"
#undef OPERATOR
};

}  // namespace

using ops::int64_tensor;

Result<void> OlderFormsWriter::run() {
  if (!node().domain.empty()) return {};
  KINGLET_TRY(rewrite());
  if (!graph_.contains(id_)) return {};  // it became other nodes, which have passed this
  if (opset_ < 13) KINGLET_TRY(check_old_operator());
  if (node().op_type.starts_with("Reduce") || node().op_type == "Resize") return {};  // their rules write any form
  const std::int64_t needed = opset_of_node(graph_, id_);
  if (needed <= opset_ || opset_ < 13) return {};
  return refuse(format_text("needs opset {} in this form", needed));
}

Result<void> OlderFormsWriter::rewrite() {
  struct Rule {
    std::string_view op_type;
    Result<void> (OlderFormsWriter::*write)();
  };
  static constexpr Rule kRules[] = {{"ArgMax", &OlderFormsWriter::arg},
                                    {"ArgMin", &OlderFormsWriter::arg},
                                    {"AveragePool", &OlderFormsWriter::pool},
                                    {"BatchNormalization", &OlderFormsWriter::batch_normalization},
                                    {"Clip", &OlderFormsWriter::clip},
                                    {"Concat", &OlderFormsWriter::axis},
                                    {"Dropout", &OlderFormsWriter::dropout},
                                    {"Flatten", &OlderFormsWriter::axis_of_one},
                                    {"Gather", &OlderFormsWriter::axis},
                                    {"Gelu", &OlderFormsWriter::gelu},
                                    {"Gemm", &OlderFormsWriter::gemm},
                                    {"HardSwish", &OlderFormsWriter::hard_swish},
                                    {"Hardmax", &OlderFormsWriter::softmax},
                                    {"LayerNormalization", &OlderFormsWriter::layer_normalization},
                                    {"LogSoftmax", &OlderFormsWriter::softmax},
                                    {"Mish", &OlderFormsWriter::mish},
                                    {"MaxPool", &OlderFormsWriter::pool},
                                    {"Pad", &OlderFormsWriter::pad},
                                    {"Reshape", &OlderFormsWriter::reshape},
                                    {"Resize", &OlderFormsWriter::resize},
                                    {"Slice", &OlderFormsWriter::slice},
                                    {"Softmax", &OlderFormsWriter::softmax},
                                    {"Split", &OlderFormsWriter::split},
                                    {"Squeeze", &OlderFormsWriter::squeeze},
                                    {"QuantizeLinear", &OlderFormsWriter::quantise},
                                    {"DequantizeLinear", &OlderFormsWriter::quantise},
                                    {"Unsqueeze", &OlderFormsWriter::squeeze}};
  if (node().op_type.starts_with("Reduce")) return reduce();
  const auto* rule = std::ranges::find(kRules, node().op_type, &Rule::op_type);
  return rule == std::ranges::end(kRules) ? Result<void>{} : (this->*(rule->write))();
}

Result<void> OlderFormsWriter::check_old_operator() {
  const auto* found = std::ranges::find(kSince, node().op_type, &Since::op_type);
  if (found == std::ranges::end(kSince)) return refuse("is newer than that");
  if (found->opset > opset_) return refuse(format_text("came with opset {}", found->opset));
  return check_old_types();
}

// Element types that arithmetic did not have before opset 13.
Result<void> OlderFormsWriter::check_old_types() {
  constexpr std::array<std::string_view, 12> kFloatsOnly{"Relu", "Clip",    "Abs", "Max", "Min",        "Sum",
                                                         "Mean", "Softmax", "Exp", "Log", "Reciprocal", "Sqrt"};
  constexpr std::array<std::string_view, 7> kNotNarrow{"Add", "Sub", "Mul", "Div", "MatMul", "Gemm", "Neg"};
  if (!has(0)) return {};
  const DataType type = graph_.value(input(0)).type;
  const bool is_float = type == DataType::kF32 || type == DataType::kF16;
  const bool narrow = type == DataType::kI8 || type == DataType::kU8 || type == DataType::kBool;
  const bool wrong = (std::ranges::contains(kFloatsOnly, node().op_type) && !is_float && opset_ < 12) ||
                     (std::ranges::contains(kNotNarrow, node().op_type) && narrow);
  return wrong ? Result<void>(refuse(format_text("did not take {} then", to_string(type)))) : Result<void>{};
}

Result<void> OlderFormsWriter::axis() { return count_from_front("axis", 0); }
Result<void> OlderFormsWriter::axis_of_one() { return count_from_front("axis", 1); }

Result<void> OlderFormsWriter::arg() {
  if (opset_ < 12) KINGLET_TRY(only_default("select_last_index", std::int64_t{0}));
  return count_from_front("axis", 0);
}

Result<void> OlderFormsWriter::batch_normalization() {
  if (opset_ < 14) KINGLET_TRY(only_default("training_mode", std::int64_t{0}));
  return {};
}

Result<void> OlderFormsWriter::pool() {
  const auto& shape = graph_.value(input(0)).shape;
  if (node().op_type == "AveragePool" && opset_ < 19) {
    KINGLET_TRY(
        only_default("dilations", std::vector<std::int64_t>(shape && shape->size() > 2 ? shape->size() - 2 : 0, 1)));
  }
  if (opset_ >= 10) return {};
  KINGLET_TRY(only_default("ceil_mode", std::int64_t{0}));
  return only_default("dilations", std::vector<std::int64_t>(shape && shape->size() > 2 ? shape->size() - 2 : 0, 1));
}

Result<void> OlderFormsWriter::clip() {
  if (opset_ >= 11) return {};
  for (const auto& [name, index] : {std::pair("min", 1U), std::pair("max", 2U)}) {
    if (!has(index)) continue;
    const Tensor* bound = graph_.constant(input(index));
    if (bound == nullptr || bound->element_count() != 1) return refuse("its bounds are computed");
    if (bound->type() != DataType::kF32 && bound->type() != DataType::kF16)
      return refuse("its bounds are whole numbers");
    attributes().set(name, bound->to_floats()[0]);
  }
  drop_inputs_from(1);
  return {};
}

Result<void> OlderFormsWriter::dropout() {
  if (opset_ >= 12) return {};
  if (has(2)) {
    const Tensor* training = graph_.constant(input(2));
    if (training == nullptr || training->data<bool>()[0]) return refuse("is in training mode");
  }
  if (has(1)) {
    const Tensor* ratio = graph_.constant(input(1));
    if (ratio == nullptr || ratio->element_count() != 1) return refuse("its ratio is computed");
    attributes().set("ratio", ratio->to_floats()[0]);
  }
  attributes().remove("seed");
  drop_inputs_from(1);
  return {};
}

Result<void> OlderFormsWriter::gemm() {
  if (opset_ >= 11 || has(2)) return {};
  const DataType type = graph_.value(input(0)).type;
  ops::set_or_add_input(graph_, id_, 2, ops::add_node_constant(graph_, id_, "no_bias", Tensor(type, {1})));
  return {};
}

Result<void> OlderFormsWriter::pad() {
  if (opset_ >= 18) return {};
  if (has(3)) {
    const std::vector<std::int64_t> axes = KINGLET_TRY(numbers(3, "axes"));
    const std::vector<std::int64_t> named = KINGLET_TRY(numbers(1, "pads"));
    const std::size_t count = KINGLET_TRY(rank(0));
    std::vector<std::int64_t> all(2 * count, 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<std::size_t>(axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(count) : axes[i]);
      all[axis] = named[i];
      all[axis + count] = named[i + axes.size()];
    }
    graph_.set_input(id_, 1, ops::add_node_constant(graph_, id_, "all_pads", int64_tensor(all)));
  }
  drop_inputs_from(3);
  if (opset_ >= 11) return {};
  attributes().set("pads", KINGLET_TRY(numbers(1, "pads")));
  if (has(2)) {
    const Tensor* value = graph_.constant(input(2));
    if (value == nullptr || (value->type() != DataType::kF32 && value->type() != DataType::kF16)) {
      return refuse("its value is computed, or no float");
    }
    attributes().set("value", value->to_floats()[0]);
  }
  drop_inputs_from(1);
  return {};
}

Result<void> OlderFormsWriter::reduce() {
  const std::int64_t since = node().op_type == "ReduceSum" ? 13 : 18;
  if (opset_ >= since) return {};
  const bool nothing = node().attributes.get_int("noop_with_empty_axes", 0) != 0;
  attributes().remove("noop_with_empty_axes");
  if (!has(1)) {
    if (nothing) return refuse("reduces no axis, which no older form can say");
    drop_inputs_from(1);
    return {};
  }
  std::vector<std::int64_t> axes = KINGLET_TRY(numbers(1, "axes"));
  if (axes.empty() && nothing) return refuse("reduces no axis, which no older form can say");
  if (opset_ < 11) {
    for (std::int64_t& each : axes) each += each < 0 ? static_cast<std::int64_t>(KINGLET_TRY(rank(0))) : 0;
  }
  if (!axes.empty()) attributes().set("axes", std::move(axes));
  drop_inputs_from(1);
  return {};
}

// Scales along an axis came with opset 13; an axis without them means nothing.
Result<void> OlderFormsWriter::quantise() {
  if (opset_ >= 13) return {};
  const auto& scale = graph_.value(input(1)).shape;
  if (!scale || element_count(*scale) != 1) return refuse("has a scale for each channel, which came with opset 13");
  attributes().remove("axis");
  return {};
}

Result<void> OlderFormsWriter::reshape() {
  if (opset_ < 14) KINGLET_TRY(only_default("allowzero", std::int64_t{0}));
  return {};
}

Result<void> OlderFormsWriter::resize() {
  if (opset_ < 19 && node().attributes.get_string("coordinate_transformation_mode", "") == "half_pixel_symmetric") {
    return refuse("half_pixel_symmetric came with opset 19");
  }
  if (opset_ >= 18) return {};
  KINGLET_TRY(only_default("antialias", std::int64_t{0}));
  KINGLET_TRY(only_default("keep_aspect_ratio_policy", std::string("stretch")));
  if (node().attributes.find("axes") != nullptr) return refuse("resizes named axes only");
  if (opset_ >= 13) return {};
  // roi and scales had to be there, if empty.
  for (const auto& [role, index] : {std::pair("roi", 1U), std::pair("scales", 2U)}) {
    if (!has(index))
      ops::set_or_add_input(graph_, id_, index, ops::add_node_constant(graph_, id_, role, Tensor(DataType::kF32, {0})));
  }
  return {};
}

Result<void> OlderFormsWriter::slice() {
  if (opset_ >= 10) return {};
  if (has(4)) {
    const std::vector<std::int64_t> steps = KINGLET_TRY(numbers(4, "steps"));
    if (std::ranges::any_of(steps, [](std::int64_t step) { return step != 1; }))
      return refuse("takes steps other than 1");
  }
  attributes().set("starts", KINGLET_TRY(numbers(1, "starts")));
  attributes().set("ends", KINGLET_TRY(numbers(2, "ends")));
  if (has(3)) {
    std::vector<std::int64_t> axes = KINGLET_TRY(numbers(3, "axes"));
    for (std::int64_t& each : axes) each += each < 0 ? static_cast<std::int64_t>(KINGLET_TRY(rank(0))) : 0;
    attributes().set("axes", std::move(axes));
  }
  drop_inputs_from(1);
  return {};
}

// Until opset 12 everything from the axis on was one dimension: the same where nothing larger than 1 follows it.
Result<void> OlderFormsWriter::softmax() {
  if (opset_ >= 13) return {};
  const auto& shape = graph_.value(input(0)).shape;
  if (!shape) return refuse("the number of dimensions of its input is not known");
  const auto count = static_cast<std::int64_t>(shape->size());
  std::int64_t axis = node().attributes.get_int("axis", -1);
  axis += axis < 0 ? count : 0;
  for (std::int64_t i = axis + 1; i < count; ++i) {
    if ((*shape)[static_cast<std::size_t>(i)] != 1) {
      return refuse(format_text("works along axis {} of {}, which was not possible before opset 13", axis, count));
    }
  }
  attributes().set("axis", axis);
  return {};
}

Result<void> OlderFormsWriter::split() {
  KINGLET_TRY(count_from_front("axis", 0));
  if (opset_ >= 18) return {};
  attributes().remove("num_outputs");
  if (opset_ >= 13 && has(1)) return {};
  std::vector<std::int64_t> lengths;
  if (has(1)) {
    lengths = KINGLET_TRY(numbers(1, "lengths"));
  } else {
    std::int64_t axis = node().attributes.get_int("axis", 0);
    for (const ValueId output : node().outputs) {
      const auto& shape = graph_.value(output).shape;
      if (!shape) return refuse("the sizes of its outputs are not known");
      if (axis < 0) axis += static_cast<std::int64_t>(shape->size());
      lengths.push_back((*shape)[static_cast<std::size_t>(axis)]);
    }
    if (std::ranges::adjacent_find(lengths, std::not_equal_to()) == lengths.end()) return {};  // equal shares
    if (std::ranges::contains(lengths, kUnknownDim)) return refuse("the sizes of its outputs are not known");
  }
  if (opset_ >= 13) {
    ops::set_or_add_input(graph_, id_, 1, ops::add_node_constant(graph_, id_, "split", int64_tensor(lengths)));
  } else {
    attributes().set("split", std::move(lengths));
    drop_inputs_from(1);
  }
  return {};
}

Result<void> OlderFormsWriter::squeeze() {
  if (opset_ >= 13 || !has(1)) return {};
  std::vector<std::int64_t> axes = KINGLET_TRY(numbers(1, "axes"));
  if (opset_ < 11) {
    const std::size_t extra = node().op_type == "Unsqueeze" ? axes.size() : 0;
    for (std::int64_t& each : axes) each += each < 0 ? static_cast<std::int64_t>(KINGLET_TRY(rank(0)) + extra) : 0;
  }
  attributes().set("axes", std::move(axes));
  drop_inputs_from(1);
  return {};
}

Result<void> take_forms_of_opset(Graph& graph, std::int64_t opset) {
  if (opset < kOldestOpsetToWrite || opset > kNewestOpsetToWrite) {
    return fail(ErrorCode::kUsage, format_text("opset {} is not one of {} to {}, which kinglet writes", opset,
                                               kOldestOpsetToWrite, kNewestOpsetToWrite));
  }
  const std::vector<NodeId> in_graph = graph.nodes();
  for (const NodeId id : in_graph) KINGLET_TRY(OlderFormsWriter(graph, id, opset).run());
  graph.metadata.opset = opset;
  return {};
}

}  // namespace kinglet::engine
