// SPDX-License-Identifier: Apache-2.0
// One more node. What reads its result is said with `wire` or `outputs --add`.

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/new_node.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {

Result<NodeProto*> add_new_node(GraphProto& graph, const NewNode& wanted) {
  NodeProto node;
  const std::size_t dot = wanted.op_type.rfind('.');
  node.set_op_type(wanted.op_type.substr(dot == std::string::npos ? 0 : dot + 1));
  if (dot != std::string::npos) node.set_domain(wanted.op_type.substr(0, dot));
  Names names;
  for (const NodeProto& other : graph.node()) names.insert(other.name());
  node.set_name(wanted.name.empty() ? format_text("{}_{}", node.op_type(), graph.node_size()) : wanted.name);
  if (names.contains(node.name())) {
    return fail(ErrorCode::kUsage, format_text("there is a node \"{}\" already", printable(node.name())), {},
                "choose another --name");
  }
  for (const std::string& input : wanted.inputs) {
    if (!input.empty()) KINGLET_TRY(require_value(graph, input));
    node.add_input(input);
  }
  const Names made = values_made(graph);
  for (const std::string& output : wanted.outputs) {
    if (made.contains(output)) {
      return fail(ErrorCode::kUsage, format_text("there is a tensor \"{}\" already", printable(output)));
    }
    node.add_output(output);
  }
  for (const std::string& text : wanted.attributes) {
    const Assignment attribute = KINGLET_TRY(split_assignment(text, "NAME=VALUE"));
    KINGLET_TRY(set_attribute(node, attribute.name, attribute.value));
  }
  return &(*graph.add_node() = std::move(node));
}

namespace {

Result<void> apply(Context& context, const Arguments& arguments) {
  NewNode node{.op_type = std::string(arguments.one("OP")),
               .name = std::string(arguments.one("--name")),
               .inputs = split_list(arguments.one("--in")),
               .outputs = split_list(arguments.one("--out")),
               .attributes = {arguments.all("--attr").begin(), arguments.all("--attr").end()}};
  KINGLET_TRY(add_new_node(*context.document.model().mutable_graph(), node));
  context.shapes_changed();
  return {};
}

}  // namespace

const VerbParts verbs::add_node{
    {{"OP", "", "its operator: Relu, com.microsoft.FastGelu", Take::kOne, true},
     {"--in", "TENSOR[,TENSOR]", "what it reads; an empty name leaves an optional input out", Take::kOne, true},
     {"--out", "TENSOR[,TENSOR]", "names for what it makes", Take::kOne, true},
     {"--attr", "NAME=VALUE", "an attribute: axis=1, pads=1,1,1,1, mode=constant", Take::kMany},
     {"--name", "NAME", "its own name (default: made from the operator)"}},
    apply};

}  // namespace kinglet::engine::edit
