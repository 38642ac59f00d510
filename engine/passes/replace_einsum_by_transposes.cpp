// SPDX-License-Identifier: Apache-2.0
// Before:     y = Einsum(a, b) {equation="bid,bjd->bij"}
// After:      y = Transpose(MatMul(Transpose(a), Transpose(b))), each Transpose only where it changes the order
// Conditions: those of engine/passes/contraction.h. Plan only: in a file it would be more nodes.
#include <algorithm>

#include "engine/base/format.h"
#include "engine/passes/contraction.h"

namespace kinglet::engine::passes {
namespace {

ValueId transposed(Graph& graph, NodeId before, ValueId source, std::vector<std::int64_t> perm) {
  if (std::ranges::is_sorted(perm)) return source;
  const std::string name = format_text("{}.transposed", graph.node(before).name);
  const ValueId made = graph.add_value(name, graph.value(source).type, std::nullopt);
  Node node{.op_type = "Transpose",
            .domain = {},
            .name = graph.value(made).name,
            .inputs = {source},
            .outputs = {made},
            .attributes = {}};
  node.attributes.set("perm", std::move(perm));
  graph.insert_node(before, std::move(node));
  return made;
}

bool replace(Graph& graph, NodeId id) {
  const std::optional<Contraction> match = match_contraction(graph, graph.node(id));
  if (!match) return false;
  const ValueId first = transposed(graph, id, graph.node(id).inputs[0], match->first);
  const ValueId second = transposed(graph, id, graph.node(id).inputs[1], match->second);
  if (std::ranges::is_sorted(match->product)) {
    graph.set_input(id, 0, first);
    graph.set_input(id, 1, second);
    graph.attributes(id) = {};
    graph.set_op_type(id, "", "MatMul");
    return true;
  }
  const ValueId product = graph.add_value(graph.node(id).name + ".product", graph.value(first).type, std::nullopt);
  graph.insert_node(id, Node{.op_type = "MatMul",
                             .domain = {},
                             .name = graph.value(product).name,
                             .inputs = {first, second},
                             .outputs = {product},
                             .attributes = {}});
  graph.resize_inputs(id, 1);
  graph.set_input(id, 0, product);
  graph.attributes(id) = {};
  graph.attributes(id).set("perm", match->product);
  graph.set_op_type(id, "", "Transpose");
  return true;
}

}  // namespace

const NodePass replace_einsum_by_transposes{{"Einsum"}, replace};

}  // namespace kinglet::engine::passes
