// SPDX-License-Identifier: Apache-2.0
// Nodes leave the graph; who read their result reads their input instead.
#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/proto_text.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {
namespace {

bool is_output(const GraphProto& graph, const std::string& name) {
  return std::ranges::contains(graph.output(), name, [](const auto& row) { return row.name(); });
}

bool is_read(const GraphProto& graph, const std::string& name) {
  return is_output(graph, name) || std::ranges::any_of(graph.node(), [&](const NodeProto& node) {
           Names inner;
           names_in_subgraphs(node, inner);
           return std::ranges::contains(node.input(), name) || inner.contains(name);
         });
}

Result<int> input_index(const Arguments& arguments, const NodeProto& node) {
  const std::string_view text = arguments.one("--input");
  if (text.empty()) return 0;
  const auto index = text.size() == 1 && text[0] >= '0' && text[0] <= '9' ? text[0] - '0' : -1;
  if (index >= 0 && index < node.input_size() && !node.input(index).empty()) return index;
  return fail(ErrorCode::kUsage, format_text("has no input {}", printable(text)), place(node));
}

// The node's result was a graph output: its input's maker gives it out under the output's name.
Result<void> give_out(GraphProto& graph, const NodeProto& node, const std::string& input, const std::string& output) {
  NodeProto* maker = nullptr;
  for (NodeProto& other : *graph.mutable_node()) {
    if (std::ranges::contains(other.output(), input)) maker = &other;
  }
  if (maker == nullptr || is_output(graph, input)) {
    return fail(ErrorCode::kUsage,
                format_text("makes the output \"{}\" straight from \"{}\": nothing would be left between them",
                            printable(output), printable(input)),
                place(node), "remove the output first: outputs --remove");
  }
  for (std::string& name : *maker->mutable_output()) {
    if (name == input) name = output;
  }
  replace_reads(graph, input, output);
  return {};
}

Result<void> drop(GraphProto& graph, const std::string& name, const Arguments& arguments) {
  const NodeProto node = *KINGLET_TRY(find_node(graph, name));
  if (node.input_size() == 0 || node.output_size() == 0) {
    return fail(ErrorCode::kUsage, "reads nothing, so nothing can take its place", place(node));
  }
  for (int i = 1; i < node.output_size(); ++i) {
    if (node.output(i).empty() || !is_read(graph, node.output(i))) continue;
    return fail(ErrorCode::kUsage, format_text("makes \"{}\", too, which is read", printable(node.output(i))),
                place(node), "give its readers something else first: wire NODE.0=TENSOR");
  }
  const std::string& input = node.input(KINGLET_TRY(input_index(arguments, node)));
  const std::string& output = node.output(0);
  bool gone = false;
  remove_rows(*graph.mutable_node(), [&](const NodeProto& row) {
    const bool same = !gone && row.output_size() > 0 && row.output(0) == output;
    gone = gone || same;
    return same;
  });
  if (is_output(graph, output)) return give_out(graph, node, input, output);
  replace_reads(graph, output, input);
  return {};
}

Result<void> apply(Context& context, const Arguments& arguments) {
  GraphProto& graph = *context.document.model().mutable_graph();
  for (const std::string& name : arguments.all("NODE")) KINGLET_TRY(drop(graph, name, arguments));
  const int more = remove_unused(graph);
  if (more > 0) context.notes.push_back(format_text("{} nodes that only they needed are gone, too", more));
  context.shapes_changed();
  return {};
}

}  // namespace

const VerbParts verbs::drop_node{{{"NODE", "", "name of a node, or of a tensor it makes", Take::kMany, true},
                                  {"--input", "I", "the input that takes the result's place (default 0)"}},
                                 apply};

}  // namespace kinglet::engine::edit
