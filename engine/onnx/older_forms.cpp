// SPDX-License-Identifier: Apache-2.0
// One rule an operator: what changed in it, newest change first. Sources: the operator documents of ONNX, "Changelog".
#include "engine/onnx/older_forms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/onnx/import.h"
#include "engine/onnx/save.h"
#include "engine/ops/normalize.h"

namespace kinglet::engine {
namespace {

using ops::int64_tensor;

// First opset of 9 to 12 that has the operator in a form a rule below can write; opset 13 and later are save.h's.
struct Since {
  std::string_view op_type;
  std::int64_t opset;
};
constexpr std::array kSince{
    Since{"Round", 11},         Since{"Range", 11},          Since{"CumSum", 11},
    Since{"GatherND", 11},      Since{"GatherElements", 11}, Since{"ScatterElements", 11},
    Since{"ScatterND", 11},     Since{"Resize", 11},         Since{"Einsum", 12},
    Since{"LessOrEqual", 12},   Since{"GreaterOrEqual", 12}, Since{"Celu", 12},
    Since{"Mod", 10},           Since{"QuantizeLinear", 10}, Since{"DequantizeLinear", 10},
    Since{"QLinearConv", 10},   Since{"QLinearMatMul", 10},  Since{"ConvInteger", 10},
    Since{"MatMulInteger", 10}, Since{"TopK", 11},           Since{"DynamicQuantizeLinear", 11},
    Since{"Det", 11},
};
// There before opset 9, in a form that holds until today or that a rule below writes.
constexpr std::array<std::string_view, 84> kOld{"Abs",
                                                "Add",
                                                "And",
                                                "ArgMax",
                                                "ArgMin",
                                                "AveragePool",
                                                "BatchNormalization",
                                                "Cast",
                                                "Ceil",
                                                "Clip",
                                                "Concat",
                                                "ConstantOfShape",
                                                "Conv",
                                                "Cos",
                                                "DepthToSpace",
                                                "Div",
                                                "Dropout",
                                                "Elu",
                                                "Equal",
                                                "Erf",
                                                "Exp",
                                                "Expand",
                                                "EyeLike",
                                                "Flatten",
                                                "Floor",
                                                "Gather",
                                                "Gemm",
                                                "GlobalAveragePool",
                                                "GlobalLpPool",
                                                "GlobalMaxPool",
                                                "Greater",
                                                "HardSigmoid",
                                                "Hardmax",
                                                "Identity",
                                                "InstanceNormalization",
                                                "LRN",
                                                "LeakyRelu",
                                                "Less",
                                                "Log",
                                                "LogSoftmax",
                                                "LpNormalization",
                                                "LpPool",
                                                "MatMul",
                                                "Max",
                                                "MaxPool",
                                                "Mean",
                                                "MeanVarianceNormalization",
                                                "Min",
                                                "Mul",
                                                "Neg",
                                                "Not",
                                                "OneHot",
                                                "Or",
                                                "PRelu",
                                                "Pad",
                                                "Pow",
                                                "Reciprocal",
                                                "ReduceL1",
                                                "ReduceL2",
                                                "ReduceLogSum",
                                                "ReduceLogSumExp",
                                                "ReduceMax",
                                                "ReduceMean",
                                                "ReduceMin",
                                                "ReduceProd",
                                                "ReduceSum",
                                                "ReduceSumSquare",
                                                "Relu",
                                                "Reshape",
                                                "Selu",
                                                "Shape",
                                                "Sigmoid",
                                                "Sign",
                                                "Sin",
                                                "Size",
                                                "Slice",
                                                "Softmax",
                                                "Softplus",
                                                "Softsign",
                                                "SpaceToDepth",
                                                "Split",
                                                "Sqrt",
                                                "Squeeze",
                                                "Sub"};
constexpr std::array<std::string_view, 8> kOldToo{"Sum",       "Tanh",      "ThresholdedRelu", "Tile",
                                                  "Transpose", "Unsqueeze", "Where",           "Xor"};

class Writer {
 public:
  Writer(Graph& graph, NodeId id, std::int64_t opset) : graph_(graph), id_(id), opset_(opset) {}

  // The rule of the node's operator, then whether the form is one of the opset.
  Result<void> run() {
    if (!node().domain.empty()) return {};
    KINGLET_TRY(rewrite());
    if (!graph_.contains(id_)) return {};  // it became other nodes, which have passed this
    if (opset_ < 13) KINGLET_TRY(check_old_operator());
    if (node().op_type.starts_with("Reduce") || node().op_type == "Resize") return {};  // their rules write any form
    const std::int64_t needed = opset_of_node(graph_, id_);
    if (needed <= opset_ || opset_ < 13) return {};
    return refuse(format_text("needs opset {} in this form", needed));
  }

 private:
  [[nodiscard]] const Node& node() const { return graph_.node(id_); }
  [[nodiscard]] Attributes& attributes() { return graph_.attributes(id_); }
  [[nodiscard]] std::unexpected<Error> refuse(std::string why) const {
    return ops::refuse(graph_, id_, ErrorCode::kUnsupported, std::move(why),
                       format_text("it has no form in opset {} that kinglet can write; choose a newer one", opset_));
  }

  [[nodiscard]] ValueId input(std::size_t index) const {
    return index < node().inputs.size() ? node().inputs[index] : kNoValue;
  }
  [[nodiscard]] bool has(std::size_t index) const { return input(index) != kNoValue; }
  void drop_inputs_from(std::size_t index) {
    if (node().inputs.size() > index) graph_.resize_inputs(id_, index);
  }
  Result<std::size_t> rank(std::size_t index) const {
    const auto& shape = graph_.value(input(index)).shape;
    if (shape) return shape->size();
    return refuse("the number of dimensions of its input is not known");
  }
  Result<std::vector<std::int64_t>> numbers(std::size_t index, std::string_view what) const {
    const Tensor* constant = graph_.constant(input(index));
    if (constant == nullptr) return refuse(format_text("its {} are computed, that opset has them fixed", what));
    return constant->to_int64s();
  }
  // Is the attribute absent or what it means by default? Then it goes.
  template <typename T>
  Result<void> only_default(std::string_view name, T value) {
    const Attribute* found = node().attributes.find(name);
    if (found == nullptr) return {};
    const T* held = std::get_if<T>(found);
    if (held == nullptr || *held != value) return refuse(format_text("its attribute {} is newer", name));
    attributes().remove(name);
    return {};
  }
  // Before opset 11 axes were counted from the front only.
  Result<void> count_from_front(std::string_view attribute, std::int64_t fallback, std::size_t extra = 0) {
    if (opset_ >= 11) return {};
    const std::int64_t axis = node().attributes.get_int(attribute, fallback);
    if (axis >= 0) return {};
    attributes().set(std::string(attribute), axis + static_cast<std::int64_t>(KINGLET_TRY(rank(0)) + extra));
    return {};
  }

  Result<void> rewrite() {
    struct Rule {
      std::string_view op_type;
      Result<void> (Writer::*write)();
    };
    static constexpr Rule kRules[] = {{"ArgMax", &Writer::arg},
                                      {"ArgMin", &Writer::arg},
                                      {"AveragePool", &Writer::pool},
                                      {"BatchNormalization", &Writer::batch_normalization},
                                      {"Clip", &Writer::clip},
                                      {"Concat", &Writer::axis},
                                      {"Dropout", &Writer::dropout},
                                      {"Flatten", &Writer::axis_of_one},
                                      {"Gather", &Writer::axis_of_zero},
                                      {"Gelu", &Writer::gelu},
                                      {"Gemm", &Writer::gemm},
                                      {"HardSwish", &Writer::hard_swish},
                                      {"Hardmax", &Writer::softmax},
                                      {"LayerNormalization", &Writer::layer_normalization},
                                      {"LogSoftmax", &Writer::softmax},
                                      {"Mish", &Writer::mish},
                                      {"MaxPool", &Writer::pool},
                                      {"Pad", &Writer::pad},
                                      {"Reshape", &Writer::reshape},
                                      {"Resize", &Writer::resize},
                                      {"Slice", &Writer::slice},
                                      {"Softmax", &Writer::softmax},
                                      {"Split", &Writer::split},
                                      {"Squeeze", &Writer::squeeze},
                                      {"QuantizeLinear", &Writer::quantise},
                                      {"DequantizeLinear", &Writer::quantise},
                                      {"Unsqueeze", &Writer::squeeze}};
    if (node().op_type.starts_with("Reduce")) return reduce();
    const auto* rule = std::ranges::find(kRules, node().op_type, &Rule::op_type);
    return rule == std::ranges::end(kRules) ? Result<void>{} : (this->*(rule->write))();
  }

  Result<void> check_old_operator() {
    const auto* late = std::ranges::find(kSince, node().op_type, &Since::op_type);
    if (late != kSince.end()) {
      if (late->opset <= opset_) return check_old_types();
      return refuse(format_text("came with opset {}", late->opset));
    }
    if (std::ranges::contains(kOld, node().op_type) || std::ranges::contains(kOldToo, node().op_type)) {
      return check_old_types();
    }
    return refuse("is newer than that");
  }

  // Element types that arithmetic did not have before opset 13.
  Result<void> check_old_types() {
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

  Result<void> axis() { return count_from_front("axis", 0); }
  Result<void> axis_of_one() { return count_from_front("axis", 1); }
  Result<void> axis_of_zero() { return count_from_front("axis", 0); }

  Result<void> arg() {
    if (opset_ < 12) KINGLET_TRY(only_default("select_last_index", std::int64_t{0}));
    return count_from_front("axis", 0);
  }

  Result<void> batch_normalization() {
    if (opset_ < 14) KINGLET_TRY(only_default("training_mode", std::int64_t{0}));
    return {};
  }

  Result<void> pool() {
    const auto& shape = graph_.value(input(0)).shape;
    if (node().op_type == "AveragePool" && opset_ < 19) {
      KINGLET_TRY(
          only_default("dilations", std::vector<std::int64_t>(shape && shape->size() > 2 ? shape->size() - 2 : 0, 1)));
    }
    if (opset_ >= 10) return {};
    KINGLET_TRY(only_default("ceil_mode", std::int64_t{0}));
    return only_default("dilations", std::vector<std::int64_t>(shape && shape->size() > 2 ? shape->size() - 2 : 0, 1));
  }

  Result<void> clip() {
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

  Result<void> dropout() {
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

  Result<void> gemm() {
    if (opset_ >= 11 || has(2)) return {};
    const DataType type = graph_.value(input(0)).type;
    ops::set_or_add_input(graph_, id_, 2, ops::add_node_constant(graph_, id_, "no_bias", Tensor(type, {1})));
    return {};
  }

  Result<void> pad() {
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

  Result<void> reduce() {
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
  Result<void> quantise() {
    if (opset_ >= 13) return {};
    const auto& scale = graph_.value(input(1)).shape;
    if (!scale || element_count(*scale) != 1) return refuse("has a scale for each channel, which came with opset 13");
    attributes().remove("axis");
    return {};
  }

  Result<void> reshape() {
    if (opset_ < 14) KINGLET_TRY(only_default("allowzero", std::int64_t{0}));
    return {};
  }

  Result<void> resize() {
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
        ops::set_or_add_input(graph_, id_, index,
                              ops::add_node_constant(graph_, id_, role, Tensor(DataType::kF32, {0})));
    }
    return {};
  }

  Result<void> slice() {
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
  Result<void> softmax() {
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

  Result<void> split() {
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

  Result<void> squeeze() {
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

  // --- Operators that become several ---------------------------------------------------------------------------------

  // A node in front; it takes the form of the opset, too.
  Result<ValueId> make(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const Value& like = graph_.value(input(0));
    const ValueId made = ops::insert_before(graph_, id_, op_type, std::move(inputs), std::move(attributes), like.type);
    graph_.set_type_and_shape(made, like.type, like.shape);
    const NodeId maker = graph_.value(made).producer;
    KINGLET_TRY(Writer(graph_, maker, opset_).run());
    return made;
  }
  ValueId scalar(std::string_view role, float value) {
    const bool half = graph_.value(input(0)).type == DataType::kF16;
    return ops::add_node_constant(graph_, id_, role,
                                  half ? Tensor::of<Half>({}, {to_half(value)}) : Tensor::of<float>({}, {value}));
  }
  // The node itself becomes the last of the chain: its output keeps its name.
  Result<void> become(std::string_view op_type, const std::vector<ValueId>& inputs) {
    const std::vector<std::pair<std::string, Attribute>> old(attributes().begin(), attributes().end());
    for (const auto& row : old) attributes().remove(row.first);
    graph_.set_op_type(id_, "", std::string(op_type));
    graph_.resize_inputs(id_, inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) graph_.set_input(id_, i, inputs[i]);
    return {};
  }

  // x * max(0, min(1, x / 6 + 0.5))
  Result<void> hard_swish() {
    if (opset_ >= 14) return {};
    Attributes form;
    form.set("alpha", 1.0F / 6);
    form.set("beta", 0.5F);
    const ValueId x = input(0);
    return become("Mul", {x, KINGLET_TRY(make("HardSigmoid", {x}, std::move(form)))});
  }

  // x * tanh(log(1 + exp(x)))
  Result<void> mish() {
    if (opset_ >= 18) return {};
    const ValueId x = input(0);
    const ValueId softplus = KINGLET_TRY(make("Softplus", {x}));
    return become("Mul", {x, KINGLET_TRY(make("Tanh", {softplus}))});
  }

  // x/2 * (1 + erf(x / sqrt(2))), or with tanh(sqrt(2/pi) * (x + 0.044715 x^3)) in the place of erf.
  Result<void> gelu() {
    if (opset_ >= 20) return {};
    const ValueId x = input(0);
    ValueId inner = kNoValue;
    if (node().attributes.get_string("approximate", "none") == "tanh") {
      const ValueId square = KINGLET_TRY(make("Mul", {x, x}));
      const ValueId scaled = KINGLET_TRY(make("Mul", {square, scalar("cubic", 0.044715F)}));
      const ValueId factor = KINGLET_TRY(make("Add", {scaled, scalar("one_more", 1)}));
      const ValueId cubic = KINGLET_TRY(make("Mul", {x, factor}));
      const auto root = static_cast<float>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
      const ValueId angle = KINGLET_TRY(make("Mul", {cubic, scalar("root", root)}));
      inner = KINGLET_TRY(make("Tanh", {angle}));
    } else {
      const ValueId scaled = KINGLET_TRY(make("Div", {x, scalar("root", static_cast<float>(std::numbers::sqrt2))}));
      inner = KINGLET_TRY(make("Erf", {scaled}));
    }
    const ValueId sum = KINGLET_TRY(make("Add", {inner, scalar("one", 1)}));
    const ValueId product = KINGLET_TRY(make("Mul", {x, sum}));
    return become("Mul", {product, scalar("half", 0.5F)});
  }

  // (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + bias
  Result<void> layer_normalization() {
    if (opset_ >= 17) return {};
    if (node().outputs.size() > 1) return refuse("gives out mean or deviation, too");
    const ValueId x = input(0);
    const auto& shape = graph_.value(x).shape;
    if (!shape) return refuse("the number of dimensions of its input is not known");
    const auto count = static_cast<std::int64_t>(shape->size());
    std::int64_t axis = node().attributes.get_int("axis", -1);
    std::vector<std::int64_t> axes;
    for (axis += axis < 0 ? count : 0; axis < count; ++axis) axes.push_back(axis);
    const ValueId axes_input = ops::add_node_constant(graph_, id_, "axes", int64_tensor(axes));
    const float epsilon = node().attributes.get_float("epsilon", 1e-5F);
    const ValueId mean = KINGLET_TRY(make("ReduceMean", {x, axes_input}));
    const ValueId centred = KINGLET_TRY(make("Sub", {x, mean}));
    const ValueId squares = KINGLET_TRY(make("Mul", {centred, centred}));
    const ValueId variance = KINGLET_TRY(make("ReduceMean", {squares, axes_input}));
    const ValueId shifted = KINGLET_TRY(make("Add", {variance, scalar("epsilon", epsilon)}));
    const ValueId deviation = KINGLET_TRY(make("Sqrt", {shifted}));
    const ValueId scale = input(1);
    const ValueId bias = input(2);
    const ValueId normal = KINGLET_TRY(make("Div", {centred, deviation}));
    if (bias == kNoValue) return become("Mul", {normal, scale});
    return become("Add", {KINGLET_TRY(make("Mul", {normal, scale})), bias});
  }

  Graph& graph_;
  NodeId id_;
  std::int64_t opset_;
};

}  // namespace

Result<void> take_forms_of_opset(Graph& graph, std::int64_t opset) {
  if (opset < kOldestOpsetToWrite || opset > kNewestOpsetToWrite) {
    return fail(ErrorCode::kUsage, format_text("opset {} is not one of {} to {}, which kinglet writes", opset,
                                               kOldestOpsetToWrite, kNewestOpsetToWrite));
  }
  const std::vector<NodeId> in_graph = graph.nodes();
  for (const NodeId id : in_graph) KINGLET_TRY(Writer(graph, id, opset).run());
  graph.metadata.opset = opset;
  return {};
}

}  // namespace kinglet::engine
