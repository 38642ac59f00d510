// SPDX-License-Identifier: Apache-2.0
// Which tensor feeds which input of a node.

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/proto_text.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {
namespace {

Result<void> wire_one(GraphProto& graph, const std::string& text) {
  const Assignment wish = KINGLET_TRY(split_assignment(text, "NODE.INPUT=TENSOR"));
  const std::size_t dot = wish.name.rfind('.');
  int index = -1;
  if (dot != std::string::npos && dot > 0) {
    index = parse_number<int>(std::string_view(wish.name).substr(dot + 1)).value_or(-1);
  }
  if (index < 0) {
    return fail(ErrorCode::kUsage, format_text("\"{}\" is not NODE.INPUT", printable(wish.name)), {},
                "inputs are counted from 0: wire conv1.0=image");
  }
  NodeProto& node = *KINGLET_TRY(find_node(graph, std::string_view(wish.name).substr(0, dot)));
  if (index > node.input_size() || index > 64) {
    return fail(ErrorCode::kUsage, format_text("has inputs 0 to {}, not {}", node.input_size() - 1, index),
                place(node));
  }
  if (!wish.value.empty()) KINGLET_TRY(require_value(graph, wish.value));
  if (index == node.input_size()) {
    node.add_input(wish.value);
  } else {
    node.set_input(index, wish.value);
  }
  return {};
}

Result<void> apply(Context& context, const Arguments& arguments) {
  GraphProto& graph = *context.document.model().mutable_graph();
  for (const std::string& text : arguments.all("NODE.INPUT=TENSOR")) KINGLET_TRY(wire_one(graph, text));
  const int gone = remove_unused(graph);
  if (gone > 0) context.notes.push_back(format_text("{} nodes whose results nobody reads any more are gone", gone));
  context.shapes_changed();
  return {};
}

}  // namespace

const VerbParts verbs::wire{
    {{"NODE.INPUT=TENSOR", "", "inputs are counted from 0; no tensor leaves an optional input out", Take::kMany, true}},
    apply};

}  // namespace kinglet::engine::edit
