// SPDX-License-Identifier: Apache-2.0
// Two models become one: outputs of the one in front feed inputs of the one behind. With a prefix, every name of the
// model that is added gets it, but for the tensors that are wired.
#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/verbs.h"
#include "engine/onnx/import.h"

namespace kinglet::engine::edit {
namespace {

using ::onnx::ModelProto;

struct Wire {
  std::string output, input;  // of the front and of the back model
};

template <typename List>
std::vector<std::string> names_in(const List& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.name());
  return names;
}

// Inputs that are no weights.
std::vector<std::string> open_inputs(const GraphProto& graph) {
  std::vector<std::string> names = names_in(graph.input());
  const std::vector<std::string> weights = names_in(graph.initializer());
  std::erase_if(names, [&](const std::string& name) { return std::ranges::contains(weights, name); });
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name, 60);
  return text;
}

Result<std::vector<Wire>> read_wires(const Arguments& arguments, const GraphProto& front, const GraphProto& back) {
  const std::vector<std::string> outputs = names_in(front.output());
  const std::vector<std::string> inputs = open_inputs(back);
  if (!arguments.has("--wire")) {
    if (outputs.size() == 1 && inputs.size() == 1) return std::vector<Wire>{{outputs[0], inputs[0]}};
    return fail(ErrorCode::kUsage, "--wire is missing: the models have more than one way to be joined", {},
                format_text("outputs of the first: {}; inputs of the second: {}", listed(outputs), listed(inputs)));
  }
  std::vector<Wire> wires;
  for (const std::string& text : arguments.all("--wire")) {
    const Assignment wire = KINGLET_TRY(split_assignment(text, "OUTPUT=INPUT"));
    if (!std::ranges::contains(outputs, wire.name)) {
      return fail(ErrorCode::kUsage, format_text("\"{}\" is no output of the model in front", printable(wire.name)), {},
                  "outputs: " + listed(outputs));
    }
    if (!std::ranges::contains(inputs, wire.value)) {
      return fail(ErrorCode::kUsage, format_text("\"{}\" is no input of the model behind", printable(wire.value)), {},
                  "inputs: " + listed(inputs));
    }
    wires.push_back({wire.name, wire.value});
  }
  return wires;
}

Result<void> check_versions(ModelProto& mine, const ModelProto& other) {
  if (other.functions_size() > 0 || other.training_info_size() > 0) {
    return fail(ErrorCode::kUnsupported, "holds functions or training information, which cannot be merged");
  }
  for (const auto& row : other.opset_import()) {
    const auto same = std::ranges::find_if(mine.opset_import(), [&](const auto& own) {
      return onnx_format::canonical_domain(own.domain()) == onnx_format::canonical_domain(row.domain());
    });
    if (same == mine.opset_import().end()) {
      *mine.add_opset_import() = row;
    } else if (same->version() != row.version()) {
      return fail(ErrorCode::kUsage,
                  format_text("has opset {} of \"{}\", the other model has {}", row.version(), printable(row.domain()),
                              same->version()),
                  {}, format_text("kinglet convert IN -o OUT --opset {}", same->version()));
    }
  }
  mine.set_ir_version(std::max(mine.ir_version(), other.ir_version()));
  return {};
}

void add_prefix(GraphProto& graph, const std::string& prefix, const Names& kept) {
  if (prefix.empty()) return;
  for_each_value_name(graph, [&](std::string& name) {
    if (!name.empty() && !kept.contains(name)) name = prefix + name;
  });
  for (NodeProto& node : *graph.mutable_node()) {
    if (!node.name().empty()) node.set_name(prefix + node.name());
  }
}

Result<void> check_clashes(const GraphProto& mine, const GraphProto& other, const Names& wired) {
  const Names here = values_made(mine);
  for (const std::string& name : values_made(other)) {
    if (!here.contains(name) || wired.contains(name)) continue;
    return fail(ErrorCode::kUsage, format_text("both models have a tensor \"{}\"", printable(name)), {},
                "--prefix b_ puts b_ in front of every name of the added model");
  }
  Names nodes;
  for (const NodeProto& node : mine.node()) nodes.insert(node.name());
  for (const NodeProto& node : other.node()) {
    if (node.name().empty() || !nodes.contains(node.name())) continue;
    return fail(ErrorCode::kUsage, format_text("both models have a node \"{}\"", printable(node.name())), {},
                "--prefix b_ puts b_ in front of every name of the added model");
  }
  return {};
}

// Everything of `other` moves behind what is there.
void take(Document& document, Document& other) {
  const Document::Adoption adoption = document.add_weights_of(other);
  GraphProto& mine = *document.model().mutable_graph();
  GraphProto& theirs = *other.model().mutable_graph();
  adoption.adopt(theirs);
  mine.mutable_node()->MergeFrom(theirs.node());
  mine.mutable_initializer()->MergeFrom(theirs.initializer());
  mine.mutable_sparse_initializer()->MergeFrom(theirs.sparse_initializer());
  mine.mutable_value_info()->MergeFrom(theirs.value_info());
  mine.mutable_quantization_annotation()->MergeFrom(theirs.quantization_annotation());
  mine.mutable_input()->MergeFrom(theirs.input());
  mine.mutable_output()->MergeFrom(theirs.output());
}

void merge_metadata(ModelProto& mine, const ModelProto& other, std::vector<std::string>& notes) {
  Names keys;
  for (const auto& row : mine.metadata_props()) keys.insert(row.key());
  for (const auto& row : other.metadata_props()) {
    if (keys.insert(row.key()).second) {
      *mine.add_metadata_props() = row;
    } else {
      notes.push_back(format_text("metadata \"{}\" of the added model is left out: the model has its own",
                                  printable(row.key(), 60)));
    }
  }
}

Result<void> apply(Context& context, const Arguments& arguments) {
  Document other = KINGLET_TRY(Document::open(arguments.one("FILE")));
  GraphProto& mine = *context.document.model().mutable_graph();
  GraphProto& theirs = *other.model().mutable_graph();
  const bool before = arguments.has("--before");
  const std::vector<Wire> wires = KINGLET_TRY(read_wires(arguments, before ? theirs : mine, before ? mine : theirs));
  if (auto same = check_versions(context.document.model(), other.model()); !same) {
    return std::unexpected(with_context(std::move(same).error(), std::string(arguments.one("FILE"))));
  }
  Names wired;  // as the added model calls them
  for (const Wire& wire : wires) wired.insert(before ? wire.output : wire.input);
  add_prefix(theirs, std::string(arguments.one("--prefix")), wired);
  KINGLET_TRY(check_clashes(mine, theirs, wired));
  // The back model's input goes by the name of the front model's output.
  GraphProto& front = before ? theirs : mine;
  GraphProto& back = before ? mine : theirs;
  std::unordered_map<std::string, std::string> fed;
  Names used;
  for (const Wire& wire : wires) {
    if (!fed.emplace(wire.input, wire.output).second) {
      return fail(ErrorCode::kUsage, format_text("\"{}\" is fed twice", printable(wire.input)));
    }
    used.insert(wire.output);
  }
  for (NodeProto& node : *back.mutable_node()) {
    for (std::string& name : *node.mutable_input()) {
      if (const auto row = fed.find(name); row != fed.end()) name = row->second;
    }
  }
  remove_rows(*back.mutable_input(), [&](const auto& row) { return fed.contains(row.name()); });
  remove_rows(*back.mutable_value_info(), [&](const auto& row) { return fed.contains(row.name()); });
  remove_rows(*front.mutable_output(), [&](const auto& row) { return used.contains(row.name()); });
  if (std::ranges::any_of(back.output(), [&](const auto& row) { return fed.contains(row.name()); })) {
    return fail(ErrorCode::kUnsupported, "an input that is wired is an output of its model, too");
  }
  take(context.document, other);
  merge_metadata(context.document.model(), other.model(), context.notes);
  context.shapes_changed();
  return {};
}

}  // namespace

const VerbParts verbs::merge{
    {{"FILE", "", "the model to add", Take::kOne, true},
     {"--wire", "OUTPUT=INPUT", "output of the front model = input of the one behind", Take::kMany},
     {"--prefix", "TEXT", "in front of every name of the added model"},
     {"--before", "", "the added model stands in front", Take::kFlag}},
    apply};

}  // namespace kinglet::engine::edit
