// SPDX-License-Identifier: Apache-2.0
// Why: what verbs need of an ONNX graph message: finding by name, connecting, removing what nobody needs.
#pragma once

#include <onnx/onnx.pb.h>

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/base/error.h"
#include "engine/onnx/document.h"

namespace kinglet::engine::edit {

using ::onnx::GraphProto;
using ::onnx::NodeProto;
using Names = std::unordered_set<std::string>;

// Names of nodes as kinglet shows them: a node without a name is "Conv_12" (see NodeNamer in engine/onnx/import.h).
[[nodiscard]] std::vector<std::string> node_names(const GraphProto& graph);

// The node of that name, else the one that makes the value of that name. kUsage with the nearest name.
[[nodiscard]] Result<NodeProto*> find_node(GraphProto& graph, std::string_view name);

// Everything that exists as a value: inputs, initializers, outputs of nodes.
[[nodiscard]] Names values_made(const GraphProto& graph);
// Is it there? kUsage with the nearest name.
[[nodiscard]] Result<void> require_value(const GraphProto& graph, const std::string& name);
// Not taken by a value or an initializer; with a suffix otherwise.
[[nodiscard]] std::string free_name(const GraphProto& graph, const std::string& wanted);

// Names that sub-graphs of the node read from outside or inside, at any depth.
void names_in_subgraphs(const NodeProto& node, Names& out);

// Every name of a value, wherever it stands: nodes, inputs, outputs, initializers, value_info, annotations.
void for_each_value_name(GraphProto& graph, const std::function<void(std::string&)>& visit);

// Nodes, inside and graph outputs aside, that read `from` read `to`.
void replace_reads(GraphProto& graph, const std::string& from, const std::string& to);

// Removes rows of a repeated field for which `gone` holds; the others keep their order.
template <typename List, typename Predicate>
int remove_rows(List& list, Predicate gone) {
  int kept = 0;
  for (int i = 0; i < list.size(); ++i) {
    if (gone(list.Get(i))) continue;
    if (kept != i) list.SwapElements(kept, i);
    ++kept;
  }
  const int removed = list.size() - kept;
  if (removed > 0) list.DeleteSubrange(kept, removed);
  return removed;
}

// Nodes no output needs, and initializers and value_info nobody reads. Gives how many nodes went.
int remove_unused(GraphProto& graph);

// Puts nodes into an order in which every value is made before it is read, changing no more than is needed. kBadData:
// a cycle, naming a node of it.
[[nodiscard]] Result<void> sort_nodes(GraphProto& graph);

// A constant for a node: an initializer with a free name. Gives the name.
std::string add_initializer(Document& document, const std::string& name, const Tensor& tensor);

// The version of the default domain's operators.
[[nodiscard]] std::int64_t opset_of(const ::onnx::ModelProto& model);

// Sets an attribute from text: of the kind it has, the operator's kind for it, or as it reads (1, 0.5, 1,2, text).
[[nodiscard]] Result<void> set_attribute(NodeProto& node, std::string_view name, std::string_view text);

// "name=value" at the first '='; kUsage with `what` in the message when there is none or the name is empty.
struct Assignment {
  std::string name, value;
};
[[nodiscard]] Result<Assignment> split_assignment(std::string_view text, std::string_view what);
// "a,b,c"
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);

// A value's type as a person writes it: "f32[1,3,224,224]", "f32[N,3,224,224]", "u8[?]".
[[nodiscard]] Result<void> parse_type(std::string_view text, ::onnx::ValueInfoProto& value);
// The dimensions alone: "1,3,224,224", with names or "?" for free ones.
[[nodiscard]] Result<void> parse_dims(std::string_view text, ::onnx::TensorShapeProto& shape);

// What a file declares about types of values must not contradict what it computes after an edit.
// Outputs without a type get the inferred one. With `changed`, sizes of outputs are the inferred ones and value_info of
// values that are not as declared, or are gone, is removed; names of free dimensions are kept where they still are
// free.
void declare_types(::onnx::GraphProto& graph, const Graph& inferred, bool changed);

// Type and shape of a value of the graph.
void write_type(const Value& value, ::onnx::ValueInfoProto& out);

// Every value made once, everything read is made, outputs exist, no cycle, names not empty. kBadData names the node.
[[nodiscard]] Result<void> check_connections(const GraphProto& graph);

}  // namespace kinglet::engine::edit
