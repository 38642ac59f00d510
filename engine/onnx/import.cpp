// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/import.h"

#include <onnx/onnx.pb.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/onnx/wire/limits.h"
#include "engine/ops/families/quantize16.h"
#include "engine/ops/out_of_scope.h"

namespace kinglet::engine::onnx_format {
namespace {

class Importer {
 public:
  Importer(const ::onnx::ModelProto& model, const TensorSource& tensors) : model_(model), tensors_(tensors) {}

  Result<Graph> run() {
    KINGLET_TRY(check_counts());
    KINGLET_TRY(refuse_unknown_operators(model_.graph()));
    if (model_.graph().sparse_initializer_size() > 0) {
      return fail(ErrorCode::kUnsupported, "holds sparse weights, which kinglet does not read");
    }
    add_metadata();
    KINGLET_TRY(add_initializers());
    KINGLET_TRY(add_inputs());
    KINGLET_TRY(add_nodes());
    KINGLET_TRY(add_outputs());
    if (!graph_.sort()) return fail(ErrorCode::kBadData, "needs its own result: its nodes form a cycle", in_cycle());
    return std::move(graph_);
  }

 private:
  Result<void> check_counts() const {
    const auto check = [](std::string_view what, int count, int most, const onnx::NodeProto* node) -> Result<void> {
      if (count <= most) return {};
      return fail(ErrorCode::kBadData, format_text("has {} {}, the limit is {}", count, what, most),
                  node == nullptr ? std::string() : place(*node));
    };
    KINGLET_TRY(check("nodes", model_.graph().node_size(), kMaxNodes, nullptr));
    KINGLET_TRY(check("outputs", model_.graph().output_size(), kMaxOutputs, nullptr));
    for (const auto& node : model_.graph().node()) {
      KINGLET_TRY(check("inputs", node.input_size(), kMaxNodeInputs, &node));
      KINGLET_TRY(check("outputs", node.output_size(), kMaxNodeOutputs, &node));
      KINGLET_TRY(check("attributes", node.attribute_size(), kMaxAttributes, &node));
    }
    return {};
  }

  // A node of a cycle: going upstream, depth first, one that is met again on the way.
  [[nodiscard]] std::string in_cycle() const {
    enum class Mark : std::uint8_t { kNew, kOnTheWay, kDone };
    std::vector<Mark> marks(std::to_underlying(graph_.end_node()), Mark::kNew);
    const auto mark = [&](NodeId id) -> Mark& { return marks[std::to_underlying(id)]; };
    for (const NodeId start : graph_.nodes()) {
      std::vector<std::pair<NodeId, std::size_t>> way{{start, 0}};  // nodes, and the next input of each to follow
      while (mark(start) != Mark::kDone) {
        auto& [id, next] = way.back();
        mark(id) = next == graph_.node(id).inputs.size() ? Mark::kDone : Mark::kOnTheWay;
        if (mark(id) == Mark::kDone) {
          way.pop_back();
          continue;
        }
        const ValueId input = graph_.node(id).inputs[next++];
        const NodeId producer = input == kNoValue ? kNoNode : graph_.value(input).producer;
        if (producer == kNoNode || mark(producer) == Mark::kDone) continue;
        if (mark(producer) == Mark::kOnTheWay) {
          return format_text("node \"{}\" ({})", printable(graph_.node(producer).name), graph_.node(producer).op_type);
        }
        way.emplace_back(producer, 0);
      }
    }
    return {};
  }

  void add_metadata() {
    Graph::Metadata& metadata = graph_.metadata;
    metadata.graph_name = model_.graph().name();
    metadata.producer = model_.producer_name();
    if (!model_.producer_version().empty()) metadata.producer += " " + model_.producer_version();
    metadata.ir_version = model_.ir_version();
    for (const auto& entry : model_.opset_import()) {
      if (canonical_domain(entry.domain()).empty()) metadata.opset = entry.version();
    }
    for (const auto& entry : model_.metadata_props()) metadata.properties.emplace_back(entry.key(), entry.value());
  }

  // Names stand in messages and logs of one line.
  static Result<void> check_name(std::string_view what, std::string_view name) {
    const auto is_control = [](char letter) { return static_cast<unsigned char>(letter) < ' ' || letter == '\x7F'; };
    if (std::ranges::none_of(name, is_control)) return {};
    return fail(ErrorCode::kBadData,
                format_text("{} \"{}\" has a control character in its name", what, printable(name)));
  }

  // A name is made once in a file (single static assignment).
  Result<void> claim(std::string_view what, const std::string& name) {
    if (name.empty()) return fail(ErrorCode::kBadData, format_text("{} has no name", what));
    KINGLET_TRY(check_name(what, name));
    if (!graph_.find_value(name)) return {};
    return fail(ErrorCode::kBadData, format_text("{} \"{}\" is made twice", what, printable(name)));
  }

  Result<void> add_initializers() {
    for (const auto& proto : model_.graph().initializer()) {
      KINGLET_TRY(claim("initializer", proto.name()));
      const std::optional<WideLevels> levels = wide_levels(proto.data_type());
      Tensor tensor = KINGLET_TRY(levels ? to_wide_tensor(proto, tensors_) : to_tensor(proto, tensors_));
      const ValueId id = graph_.add_constant(proto.name(), std::move(tensor));
      if (levels) wide_.emplace(std::to_underlying(id), *levels);
    }
    return {};
  }

  Result<void> add_inputs() {
    for (const auto& proto : model_.graph().input()) {
      const std::optional<ValueId> known = graph_.find_value(proto.name());
      if (known && graph_.constant(*known) != nullptr) continue;  // a weight with a default: the default is used
      KINGLET_TRY(claim("input", proto.name()));
      if (graph_.inputs().size() == static_cast<std::size_t>(kMaxInputs)) {
        return fail(ErrorCode::kBadData, format_text("has more than {} inputs", kMaxInputs));
      }
      KINGLET_TRY(add_input(proto));
    }
    return {};
  }

  Result<void> add_input(const ::onnx::ValueInfoProto& proto) {
    const std::string place = format_text("input \"{}\"", printable(proto.name()));
    if (!proto.has_type() || !proto.type().has_tensor_type()) {
      return fail(ErrorCode::kUnsupported, "is no tensor", place);
    }
    const auto& tensor = proto.type().tensor_type();
    const std::optional<DataType> type = data_type(tensor.elem_type());
    if (!type) {
      return fail(ErrorCode::kUnsupported,
                  format_text("is {}, which kinglet does not compute with", describe_refused_type(tensor.elem_type())),
                  place);
    }
    if (!tensor.has_shape()) {
      graph_.add_input(proto.name(), *type, std::nullopt, {});
      return {};
    }
    Shape shape;
    std::vector<std::string> names;
    for (const auto& dim : tensor.shape().dim()) {
      if (dim.has_dim_value() && dim.dim_value() > (std::int64_t{1} << 31)) {
        return fail(ErrorCode::kBadData, format_text("has a dimension of {}", dim.dim_value()), place);
      }
      // Old exporters write 0 or a negative number for "any".
      const bool fixed = dim.has_dim_value() && dim.dim_value() > 0;
      shape.push_back(fixed ? dim.dim_value() : kUnknownDim);
      names.push_back(fixed ? std::string() : dim.dim_param());
    }
    graph_.add_input(proto.name(), *type, std::move(shape), std::move(names));
    return {};
  }

  Result<void> add_nodes() {
    for (const auto& proto : model_.graph().node()) KINGLET_TRY(declare_outputs(proto));
    for (const auto& proto : model_.graph().node()) {
      if (!is_constant(proto)) KINGLET_TRY(add_node(proto));
    }
    return {};
  }

  static bool is_constant(const ::onnx::NodeProto& proto) {
    return proto.op_type() == "Constant" && canonical_domain(proto.domain()).empty();
  }

  static std::string place(const ::onnx::NodeProto& proto) {
    const std::string& name = proto.name().empty() && proto.output_size() > 0 ? proto.output(0) : proto.name();
    return format_text("node \"{}\" ({})", printable(name), printable(proto.op_type()));
  }

  Result<void> declare_outputs(const ::onnx::NodeProto& proto) {
    if (is_constant(proto)) return add_constant_node(proto);
    for (const std::string& name : proto.output()) {
      if (name.empty()) continue;
      if (auto claimed = claim("value", name); !claimed) {
        return std::unexpected(with_context(std::move(claimed).error(), place(proto)));
      }
      graph_.add_value(name, DataType::kF32, std::nullopt);
    }
    return {};
  }

  Result<void> add_constant_node(const ::onnx::NodeProto& proto) {
    const auto wrong = [&](std::string message) { return fail(ErrorCode::kBadData, std::move(message), place(proto)); };
    if (proto.output_size() != 1 || proto.attribute_size() != 1) return wrong("has not one value and one output");
    if (auto claimed = claim("value", proto.output(0)); !claimed) return claimed;
    const Attribute attribute = KINGLET_TRY(read_attribute(proto.attribute(0), "Constant", tensors_));
    const std::string& kind = proto.attribute(0).name();
    Tensor tensor;
    if (const auto* value = std::get_if<Tensor>(&attribute); value != nullptr && kind == "value") {
      tensor = *value;
    } else if (const auto* number = std::get_if<float>(&attribute); number != nullptr && kind == "value_float") {
      tensor = Tensor::of<float>({}, {*number});
    } else if (const auto* integer = std::get_if<std::int64_t>(&attribute); integer != nullptr && kind == "value_int") {
      tensor = Tensor::of<std::int64_t>({}, {*integer});
    } else if (const auto* floats = std::get_if<std::vector<float>>(&attribute);
               floats != nullptr && kind == "value_floats") {
      tensor = Tensor::of<float>({static_cast<Dim>(floats->size())}, *floats);
    } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&attribute);
               ints != nullptr && kind == "value_ints") {
      tensor = Tensor::of<std::int64_t>({static_cast<Dim>(ints->size())}, *ints);
    } else {
      return wrong(format_text("has a value of a kind kinglet does not read: {}", printable(kind)));
    }
    graph_.add_constant(proto.output(0), std::move(tensor));
    return {};
  }

  Result<void> add_node(const ::onnx::NodeProto& proto) {
    KINGLET_TRY(check_name("node", proto.name()));
    Node node{
        .op_type = proto.op_type(), .domain = std::string(canonical_domain(proto.domain())), .name = node_name_(proto)};
    for (const std::string& name : proto.input()) {
      if (name.empty()) {
        node.inputs.push_back(kNoValue);
        continue;
      }
      const std::optional<ValueId> value = graph_.find_value(name);
      if (!value) {
        return fail(ErrorCode::kBadData, format_text("reads \"{}\", which nothing makes", printable(name)),
                    place(proto));
      }
      node.inputs.push_back(*value);
    }
    while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
    for (const std::string& name : proto.output()) {
      node.outputs.push_back(name.empty() ? kNoValue : *graph_.find_value(name));
    }
    while (!node.outputs.empty() && node.outputs.back() == kNoValue) node.outputs.pop_back();
    for (const auto& attribute : proto.attribute()) {
      if (attribute.name().starts_with("kinglet_")) continue;  // our plan's own marks never come from a file
      auto value = read_attribute(attribute, proto.op_type(), tensors_);
      if (!value) return std::unexpected(with_context(std::move(value).error(), place(proto)));
      node.attributes.set(attribute.name(), std::move(*value));
    }
    KINGLET_TRY(mark_wide(proto, node));
    graph_.add_node(std::move(node));
    return {};
  }

  // 16-bit constants go with quantisation alone, where normalising takes them out (ops/families/quantize16.h).
  Result<void> mark_wide(const ::onnx::NodeProto& proto, Node& node) {
    const bool quantizes = node.op_type == "QuantizeLinear";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto at = node.inputs[i] == kNoValue ? wide_.end() : wide_.find(std::to_underlying(node.inputs[i]));
      if (at == wide_.end()) continue;
      if (i != 2 && (i != 0 || node.op_type != "DequantizeLinear")) {
        return fail(ErrorCode::kUnsupported,
                    format_text("input {} has 16-bit integers, which kinglet only dequantises", i), place(proto));
      }
      if (quantizes) node.attributes.set(std::string(ops::kLevels), std::vector{at->second.low, at->second.high});
    }
    const auto wide =
        quantizes ? wide_levels(static_cast<int>(node.attributes.get_int("output_dtype", 0))) : std::nullopt;
    if (wide) node.attributes.set(std::string(ops::kLevels), std::vector{wide->low, wide->high});
    return {};
  }

  Result<void> add_outputs() {
    for (const auto& proto : model_.graph().output()) {
      const std::optional<ValueId> value = graph_.find_value(proto.name());
      const std::string place = format_text("output \"{}\"", printable(proto.name()));
      if (!value) return fail(ErrorCode::kBadData, "nothing makes it", place);
      if (graph_.is_output(*value)) return fail(ErrorCode::kBadData, "is listed twice", place);
      if (wide_.contains(std::to_underlying(*value))) {
        return fail(ErrorCode::kUnsupported, "has 16-bit integers, which kinglet only dequantises", place);
      }
      graph_.add_output(*value);
    }
    if (graph_.outputs().empty()) return fail(ErrorCode::kBadData, "has no output");
    return {};
  }

  const ::onnx::ModelProto& model_;
  const TensorSource& tensors_;
  Graph graph_;
  NodeNamer node_name_;
  std::unordered_map<std::uint32_t, WideLevels> wide_;
};

}  // namespace

std::string NodeNamer::operator()(const ::onnx::NodeProto& node) {
  std::string name = node.name();
  if (name.empty()) name = format_text("{}_{}", node.op_type(), names_.size());
  while (!names_.insert(name).second) name += format_text("_{}", names_.size());
  return name;
}

std::string_view canonical_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

std::int64_t Opsets::version_of(std::string_view domain) const {
  const auto at = std::ranges::find(versions, domain, &std::pair<std::string, std::int64_t>::first);
  return at == versions.end() ? 1 : at->second;
}

Result<Opsets> read_opsets(const ::onnx::ModelProto& model) {
  constexpr std::int64_t kFirstIrWithOpsets = 3;
  if (model.opset_import().empty() && model.ir_version() >= kFirstIrWithOpsets) {
    return fail(ErrorCode::kBadData, "names no operator set", {},
                "the file may be cut short; fetch or export it again");
  }
  Opsets opsets;
  for (const auto& entry : model.opset_import()) {
    opsets.versions.emplace_back(canonical_domain(entry.domain()), entry.version());
  }
  const std::int64_t version = opsets.version_of("");
  if (version < 1) return fail(ErrorCode::kBadData, format_text("has the operator set {}", version));
  if (version > kNewestOpset) {
    return fail(ErrorCode::kUnsupported,
                format_text("uses operator set {}, kinglet knows 1 to {}", version, kNewestOpset), {},
                format_text("export it again with opset {}", kNewestOpset));
  }
  return opsets;
}

Result<Graph> import_graph(const ::onnx::ModelProto& model, const TensorSource& tensors) {
  return Importer(model, tensors).run();
}

}  // namespace kinglet::engine::onnx_format
