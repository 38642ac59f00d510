// SPDX-License-Identifier: Apache-2.0
// Before:     y = f(Transpose(x) {perm=p}, Transpose(z) {perm=p}), f one operator or a region of them
// After:      y = Transpose(f(x, z)) {perm=p}
// Conditions: f works element by element, on values of perm's rank and on fixed constants that have more than one
//             element along one axis at most. The region is all such operators that hang together, less those without
//             which fewer Transposes remain; what enters it without one gets the reverse of p, what leaves it p, and
//             it moves only where fewer remain, one counted for two that fuse_transposes joins.
#include <algorithm>
#include <set>

#include "engine/base/check.h"
#include "engine/passes/product.h"

namespace kinglet::engine::passes {
namespace {

using Perm = std::vector<std::int64_t>;

// Bounds the time for one Transpose; a stage of the largest ConvNeXt has 54.
constexpr std::size_t kMostNodes = 256;

bool is_elementwise(const Node& node) {
  return traits_of(node).elementwise != Elementwise::kNo && !has_fused_clip(node) && node.outputs.size() == 1;
}

// Inputs that have the output's axes; the others are single numbers (bounds of Clip).
std::size_t axes_inputs(const Node& node) {
  return traits_of(node).elementwise == Elementwise::kUnary ? 1 : node.inputs.size();
}

// The constant as the Transpose's input sees it; nothing when more than its shape would change.
std::optional<Tensor> turned_back(const Tensor& constant, const Perm& perm) {
  const Shape& shape = constant.shape();
  if (shape.size() > perm.size() || std::ranges::count_if(shape, [](Dim dim) { return dim != 1; }) > 1) {
    return std::nullopt;
  }
  Shape turned(perm.size(), 1);
  const std::size_t missing = perm.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) turned[static_cast<std::size_t>(perm[missing + i])] = shape[i];
  return constant.reshaped(std::move(turned));
}

Perm reversed(const Perm& perm) {
  Perm back(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  return back;
}

bool turns_by(const Graph& graph, NodeId id, const Perm& perm) {
  return id != kNoNode && is_op(graph.node(id), "Transpose") && perm_of(graph, graph.node(id)) == perm;
}

struct Region {
  Perm perm;
  Perm back;
  std::set<NodeId> nodes;
};

bool may_join(const Graph& graph, NodeId id, const Perm& perm) {
  const Node& node = graph.node(id);
  if (!is_elementwise(node)) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    const Tensor* constant = fixed_input(graph, node, i);
    if (i >= axes_inputs(node)) {
      if (input != kNoValue && constant == nullptr) return false;
    } else if (constant != nullptr) {
      if (!turned_back(*constant, perm)) return false;
    } else if (input == kNoValue || !graph.value(input).shape || graph.value(input).shape->size() != perm.size()) {
      return false;
    }
  }
  return true;
}

// What fewer Transposes there are at this value when the region has moved.
int gain_at(const Graph& graph, const Region& region, ValueId id) {
  const auto inside = [&](NodeId node) { return region.nodes.contains(node); };
  const std::vector<NodeId>& readers = graph.consumers(id);
  const NodeId producer = graph.value(id).producer;
  if (producer == kNoNode || !inside(producer)) {
    if (fixed_constant(graph, id) != nullptr || std::ranges::none_of(readers, inside)) return 0;
    if (turns_by(graph, producer, region.perm)) return std::ranges::all_of(readers, inside) && !graph.is_output(id);
    return std::ranges::any_of(readers, [&](NodeId node) { return turns_by(graph, node, region.back); }) ? 0 : -1;
  }
  int undone = 0;
  bool named = false;  // a graph output, which one value can be once
  std::vector<NodeId> others;
  for (const NodeId node : readers) {
    if (inside(node)) continue;
    const bool is_name = graph.is_output(graph.node(node).outputs[0]);
    if (turns_by(graph, node, region.back) && !(is_name && named)) {
      ++undone;
      named = named || is_name;
    } else {
      others.push_back(node);
    }
  }
  const bool joined = others.size() == 1 && is_op(graph.node(others[0]), "Transpose") && !graph.is_output(id);
  return undone - (joined || (others.empty() && !graph.is_output(id)) ? 0 : 1);
}

int gain_of(const Graph& graph, const Region& region, const std::set<ValueId>& values) {
  int gain = 0;
  for (const ValueId id : values) gain += gain_at(graph, region, id);
  return gain;
}

std::set<ValueId> values_at(const Node& node) {
  std::set<ValueId> values(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(axes_inputs(node)));
  values.insert(node.outputs[0]);
  return values;
}

void grow(const Graph& graph, Region& region, ValueId from) {
  std::vector<ValueId> open{from};
  const auto join = [&](NodeId id) {
    if (id == kNoNode || region.nodes.size() >= kMostNodes || region.nodes.contains(id) ||
        !may_join(graph, id, region.perm)) {
      return;
    }
    region.nodes.insert(id);
    const std::set<ValueId> values = values_at(graph.node(id));
    open.insert(open.end(), values.begin(), values.end());
  };
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (fixed_constant(graph, id) != nullptr) continue;
    join(graph.value(id).producer);
    std::ranges::for_each(graph.consumers(id), join);
  }
}

// Takes out, one after the other, what the region is better off without.
void trim(const Graph& graph, Region& region) {
  for (bool again = true; std::exchange(again, false);) {
    for (const NodeId id : std::vector<NodeId>(region.nodes.begin(), region.nodes.end())) {
      const std::set<ValueId> values = values_at(graph.node(id));
      const int with = gain_of(graph, region, values);
      region.nodes.erase(id);
      if (gain_of(graph, region, values) > with) {
        again = true;
      } else {
        region.nodes.insert(id);
      }
    }
  }
}

bool pays(const Graph& graph, const Region& region) {
  std::set<ValueId> values;
  for (const NodeId id : region.nodes) values.merge(values_at(graph.node(id)));
  return gain_of(graph, region, values) > 0;
}

std::optional<Shape> in_order(const std::optional<Shape>& shape, const Perm& perm) {
  if (!shape) return std::nullopt;
  Shape turned;
  for (const std::int64_t axis : perm) turned.push_back((*shape)[static_cast<std::size_t>(axis)]);
  return turned;
}

ValueId insert_transpose(Graph& graph, NodeId before, ValueId input, const Perm& perm) {
  const Value from = graph.value(input);
  Node turn{.op_type = "Transpose",
            .domain = {},
            .name = from.name,
            .inputs = {input},
            .outputs = {graph.add_value(from.name, from.type, in_order(from.shape, perm))},
            .attributes = {}};
  turn.attributes.set("perm", perm);
  const ValueId turned = turn.outputs[0];
  graph.insert_node(before, std::move(turn));
  return turned;
}

// The value as the region wants it: somebody may have turned it already.
ValueId turned_input(Graph& graph, NodeId id, ValueId input, const Region& region) {
  for (const NodeId reader : graph.consumers(input)) {
    if (turns_by(graph, reader, region.back)) return graph.node(reader).outputs[0];
  }
  return insert_transpose(graph, id, input, region.back);
}

void remove_if_unread(Graph& graph, ValueId id) {
  if (graph.consumers(id).empty() && !graph.is_output(id)) graph.remove_node(graph.value(id).producer);
}

// One node of the region: every value inside has a Transpose behind it, which is dropped when its readers have moved.
void move_node(Graph& graph, NodeId id, const Region& region) {
  Node moved = graph.node(id);
  for (std::size_t i = 0; i < axes_inputs(moved); ++i) {
    const ValueId input = moved.inputs[i];
    if (const Tensor* constant = fixed_input(graph, moved, i); constant != nullptr) {
      moved.inputs[i] = graph.add_constant(graph.value(input).name, *turned_back(*constant, region.perm));
    } else if (const NodeId turn = graph.value(input).producer; turns_by(graph, turn, region.perm)) {
      moved.inputs[i] = graph.node(turn).inputs[0];
    } else {
      moved.inputs[i] = turned_input(graph, id, input, region);
    }
  }
  const std::vector<ValueId> read = graph.node(id).inputs;
  const ValueId old = moved.outputs[0];
  const Value kept = graph.value(old);
  moved.outputs[0] = graph.add_value(kept.name, kept.type, in_order(kept.shape, region.back));
  const ValueId result = moved.outputs[0];
  graph.insert_node(id, std::move(moved));
  const ValueId turned = insert_transpose(graph, id, result, region.perm);
  replace_value(graph, old, turned);
  graph.remove_node(id);
  const std::vector<NodeId> readers = graph.consumers(turned);
  for (const NodeId reader : readers) {
    // Declined for the second of two graph outputs, as gain_at counts.
    if (turns_by(graph, reader, region.back)) static_cast<void>(bypass_node(graph, reader, result));
  }
  remove_if_unread(graph, turned);
  for (const ValueId input : read) {
    if (graph.contains(input) && turns_by(graph, graph.value(input).producer, region.perm))
      remove_if_unread(graph, input);
  }
}

}  // namespace

Result<int> move_transpose(Graph& graph, PassBudget& budget) {
  std::set<NodeId> seen;  // what a region was grown from already, in vain
  return rewrite_nodes(graph, budget, {"Transpose"}, [&](Graph& in, NodeId id) {
    if (seen.contains(id)) return false;
    Region region{.perm = perm_of(in, in.node(id)), .back = {}, .nodes = {}};
    if (region.perm.empty()) return false;
    region.back = reversed(region.perm);
    grow(in, region, in.node(id).outputs[0]);
    for (const NodeId node : region.nodes) {
      for (const ValueId input : values_at(in.node(node))) {
        if (turns_by(in, in.value(input).producer, region.perm)) seen.insert(in.value(input).producer);
      }
    }
    trim(in, region);
    if (!pays(in, region)) return false;
    const std::vector<NodeId> order = in.nodes();
    for (const NodeId node : order) {
      if (region.nodes.contains(node)) move_node(in, node, region);
    }
    KINGLET_CHECK(in.sort());  // what was turned already may stand behind its new reader
    return true;
  });
}
}  // namespace kinglet::engine::passes
