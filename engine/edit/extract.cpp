// SPDX-License-Identifier: Apache-2.0
// The part of a model between named tensors becomes the model: a feature extractor, or a head cut off.
#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {
namespace {

std::vector<std::string> names_of(const Arguments& arguments, std::string_view option) {
  std::vector<std::string> names;
  for (const std::string& list : arguments.all(option)) {
    for (std::string& name : split_list(list)) names.push_back(std::move(name));
  }
  return names;
}

// The tensor is given from outside from now on: whoever makes it keeps a free name instead.
Result<void> cut(GraphProto& graph, const ::onnx::ValueInfoProto& type) {
  const std::string& name = type.name();
  if (std::ranges::contains(graph.input(), name, [](const auto& row) { return row.name(); })) return {};
  if (std::ranges::contains(graph.initializer(), name, [](const auto& row) { return row.name(); })) {
    return fail(ErrorCode::kUsage, format_text("\"{}\" is a weight, it cannot be cut", printable(name)));
  }
  for (NodeProto& node : *graph.mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (output == name) output = free_name(graph, name + "_cut");
    }
  }
  *graph.add_input() = type;
  return {};
}

Result<void> apply(Context& context, const Arguments& arguments) {
  GraphProto& graph = *context.document.model().mutable_graph();
  const std::vector<std::string> from = names_of(arguments, "--from");
  const std::vector<std::string> to = names_of(arguments, "--to");
  if (from.empty() && to.empty()) return fail(ErrorCode::kUsage, "neither --from nor --to is given");
  std::vector<::onnx::ValueInfoProto> inputs;
  std::vector<::onnx::ValueInfoProto> outputs;
  for (const std::string& name : from) {
    KINGLET_TRY(require_value(graph, name));
    inputs.push_back(KINGLET_TRY(context.type_of(name)));
  }
  for (const std::string& name : to) {
    KINGLET_TRY(require_value(graph, name));
    if (std::ranges::contains(from, name)) {
      return fail(ErrorCode::kUsage, format_text("\"{}\" cannot be both ends", printable(name)));
    }
    outputs.push_back(KINGLET_TRY(context.type_of(name)));
  }
  for (const auto& input : inputs) KINGLET_TRY(cut(graph, input));
  if (!to.empty()) {
    graph.clear_output();
    for (const auto& output : outputs) *graph.add_output() = output;
  }
  remove_unused(graph);
  Names read;
  for (const NodeProto& node : graph.node()) {
    read.insert(node.input().begin(), node.input().end());
    names_in_subgraphs(node, read);
  }
  for (const std::string& name : from) {
    if (read.contains(name)) continue;
    return fail(ErrorCode::kUsage, format_text("\"{}\" does not lead to the outputs", printable(name)), {},
                "name tensors between the inputs and the outputs");
  }
  const int dropped = remove_rows(*graph.mutable_input(), [&](const auto& row) { return !read.contains(row.name()); });
  if (dropped > 0) context.notes.push_back(format_text("{} inputs that nothing reads any more are gone", dropped));
  if (graph.input().empty()) return fail(ErrorCode::kUsage, "no input would be left");
  return {};
}

}  // namespace

const VerbParts verbs::extract{{{"--from", "TENSOR[,TENSOR]", "new inputs (default: those there are)", Take::kMany},
                                {"--to", "TENSOR[,TENSOR]", "new outputs (default: those there are)", Take::kMany}},
                               apply};

}  // namespace kinglet::engine::edit
