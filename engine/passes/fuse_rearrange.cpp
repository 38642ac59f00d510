// SPDX-License-Identifier: Apache-2.0
// Before:     a chain of Reshape, Flatten, Squeeze, Unsqueeze, Transpose and Gather of one constant index, x to y
// After:      y = kinglet::Rearrange(x) {split, take, perm, shape}; Reshape(x) where nothing really moves; nothing at
//             all where the shape stays, too
// Conditions: inner values are no graph outputs and read once, or by such Gathers alone (query, key and value of one
//             product); all shapes are static and hold no 0; the chain has two nodes or more, of them a Transpose, or
//             is a Transpose that moves axes of 1 alone. The sizes are split into atoms small enough for every shape of
//             the chain; a chain for which there are none is left alone. Session only: ONNX has no such operator.
#include <algorithm>
#include <optional>
#include <vector>

#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

constexpr std::initializer_list<std::string_view> kMembers{"Reshape",   "Flatten",   "Squeeze",
                                                           "Unsqueeze", "Transpose", "Gather"};
constexpr std::size_t kMostAtoms = 12;

// The numbers of a tensor as a product of atoms: their sizes, their order in the source and, a dimension each, in the
// shape reached so far. Dimensions of 1 have none.
class Atoms {
 public:
  explicit Atoms(const Shape& shape) {
    for (const Dim dim : shape) {
      groups_.emplace_back();
      if (dim == 1) continue;
      source_.push_back(sizes_.size());
      groups_.back().push_back(sizes_.size());
      sizes_.push_back(dim);
      taken_.push_back(-1);
    }
  }

  void transpose(const std::vector<std::int64_t>& perm) {
    std::vector<std::vector<std::size_t>> moved;
    moved.reserve(perm.size());
    for (const std::int64_t axis : perm) moved.push_back(groups_.at(static_cast<std::size_t>(axis)));
    groups_ = std::move(moved);
  }

  // One index of an axis, which goes.
  void take(std::size_t axis, std::int64_t index) {
    const std::vector<std::size_t> group = groups_.at(axis);
    for (std::size_t i = group.size(); i-- > 0;) {
      taken_[group[i]] = index % sizes_[group[i]];
      index /= sizes_[group[i]];
    }
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(axis));
  }

  // False when a border of the new shape lies within an atom that does not split there.
  bool reshape(const Shape& shape) {
    std::vector<std::size_t> line = order();
    groups_.assign(shape.size(), {});
    std::size_t next = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      Dim left = shape[axis];
      while (left > 1) {
        const std::size_t atom = line.at(next);
        if (left % sizes_[atom] != 0) {
          if (sizes_[atom] % left != 0) return false;
          line.insert(line.begin() + static_cast<std::ptrdiff_t>(next) + 1, split(atom, left));
        }
        left /= sizes_[atom];
        groups_[axis].push_back(atom);
        ++next;
      }
    }
    return true;
  }

  [[nodiscard]] std::size_t count() const { return sizes_.size(); }
  [[nodiscard]] bool in_order() const { return order() == source_; }
  [[nodiscard]] std::vector<std::int64_t> split_sizes() const { return of_atoms(sizes_); }
  [[nodiscard]] std::vector<std::int64_t> taken() const { return of_atoms(taken_); }
  [[nodiscard]] std::vector<std::int64_t> permutation() const {
    std::vector<std::int64_t> out;
    for (const std::size_t atom : order()) out.push_back(std::ranges::find(source_, atom) - source_.begin());
    return out;
  }

 private:
  [[nodiscard]] std::vector<std::int64_t> of_atoms(const std::vector<std::int64_t>& facts) const {
    std::vector<std::int64_t> out;
    out.reserve(source_.size());
    for (const std::size_t atom : source_) out.push_back(facts[atom]);
    return out;
  }
  [[nodiscard]] std::vector<std::size_t> order() const {
    std::vector<std::size_t> out;
    for (const auto& group : groups_) out.insert(out.end(), group.begin(), group.end());
    return out;
  }
  // The atom keeps `outer` of its size; the rest becomes an atom of its own behind it, whose number is returned.
  std::size_t split(std::size_t atom, Dim outer) {
    const std::size_t rest = sizes_.size();
    sizes_.push_back(sizes_[atom] / outer);
    sizes_[atom] = outer;
    taken_.push_back(-1);
    source_.insert(std::ranges::find(source_, atom) + 1, rest);
    return rest;
  }

  std::vector<Dim> sizes_;
  std::vector<std::int64_t> taken_;  // the one index that is left of an atom, or -1
  std::vector<std::size_t> source_;
  std::vector<std::vector<std::size_t>> groups_;
};

// The constant index of a Gather that takes one; nothing for other nodes.
std::optional<std::int64_t> taken_index(const Graph& graph, const Node& node) {
  if (!is_op(node, "Gather")) return std::nullopt;
  const Tensor* index = fixed_input(graph, node, 1);
  const std::optional<Shape>& shape = graph.value(node.inputs[0]).shape;
  if (index == nullptr || !index->shape().empty() || !shape || shape->empty()) return std::nullopt;
  const std::int64_t axis = node.attributes.get_int("axis", 0);
  const Dim size =
      (*shape)[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape->size()) : axis)];
  const std::int64_t at = index->to_int64s()[0];
  if (at < -size || at >= size) return std::nullopt;
  return at < 0 ? at + size : at;
}

bool is_member(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!is_any_of(node, kMembers)) return false;
  for (const ValueId value : {node.inputs[0], node.outputs[0]}) {
    const std::optional<Shape>& shape = graph.value(value).shape;
    if (!shape || !is_static(*shape) || std::ranges::contains(*shape, 0)) return false;
  }
  return !is_op(node, "Gather") || taken_index(graph, node).has_value();
}

// The value goes on within chains only.
bool is_inner(const Graph& graph, ValueId id) {
  if (graph.is_output(id)) return false;
  const auto& readers = graph.consumers(id);
  if (readers.size() == 1) return is_member(graph, readers.front()) && graph.node(readers.front()).inputs[0] == id;
  return !readers.empty() && std::ranges::all_of(readers, [&](NodeId reader) {
    return graph.node(reader).inputs[0] == id && taken_index(graph, graph.node(reader)).has_value() &&
           is_member(graph, reader);
  });
}

// The members that lead to `last`, first to last; empty when a reader of `last` would take it into its own chain.
std::vector<NodeId> chain_of(const Graph& graph, NodeId last) {
  if (is_inner(graph, graph.node(last).outputs[0])) return {};
  std::vector<NodeId> chain{last};
  while (true) {
    const ValueId input = graph.node(chain.back()).inputs[0];
    const NodeId before = producer_of(graph, input, kMembers);
    if (before == kNoNode || !is_inner(graph, input) || !is_member(graph, before)) break;
    chain.push_back(before);
  }
  std::ranges::reverse(chain);
  return chain;
}

std::optional<Atoms> follow(const Graph& graph, const std::vector<NodeId>& chain) {
  Atoms atoms(*graph.value(graph.node(chain.front()).inputs[0]).shape);
  for (const NodeId id : chain) {
    const Node& node = graph.node(id);
    const Shape& shape = *graph.value(node.outputs[0]).shape;
    if (node.op_type == "Transpose") {
      std::vector<std::int64_t> perm = node.attributes.get_ints("perm");
      for (std::size_t axis = shape.size(); perm.size() < shape.size();) perm.push_back(static_cast<Dim>(--axis));
      atoms.transpose(perm);
    } else if (const auto index = taken_index(graph, node)) {
      const std::int64_t axis = node.attributes.get_int("axis", 0);
      const auto rank = static_cast<std::int64_t>(shape.size()) + 1;
      atoms.take(static_cast<std::size_t>(axis < 0 ? axis + rank : axis), *index);
    } else if (!atoms.reshape(shape)) {
      return std::nullopt;
    }
    if (atoms.count() > kMostAtoms) return std::nullopt;
  }
  return atoms;
}

void become_rearrange(Graph& graph, NodeId id, ValueId x, const Atoms& atoms) {
  const Shape shape = *graph.value(graph.node(id).outputs[0]).shape;
  graph.attributes(id) = {};
  if (atoms.in_order()) {
    const ValueId target =
        graph.add_constant(graph.node(id).name + "_shape",
                           Tensor::of<std::int64_t>({static_cast<Dim>(shape.size())}, std::span<const Dim>(shape)));
    graph.resize_inputs(id, 2);
    graph.set_input(id, 1, target);
    graph.set_op_type(id, "", "Reshape");
  } else {
    graph.resize_inputs(id, 1);
    graph.set_op_type(id, "kinglet", "Rearrange");
    graph.attributes(id).set("split", atoms.split_sizes());
    graph.attributes(id).set("take", atoms.taken());
    graph.attributes(id).set("perm", atoms.permutation());
    graph.attributes(id).set("shape", std::vector<std::int64_t>(shape));
  }
  graph.set_input(id, 0, x);
}

bool fuse(Graph& graph, NodeId id) {
  if (!is_member(graph, id)) return false;
  const std::vector<NodeId> chain = chain_of(graph, id);
  const auto moves = [&](NodeId node) { return graph.node(node).op_type == "Transpose"; };
  if (chain.empty() || std::ranges::none_of(chain, moves)) return false;
  const std::optional<Atoms> atoms = follow(graph, chain);
  if (!atoms || (chain.size() == 1 && !atoms->in_order())) return false;
  const ValueId x = graph.node(chain.front()).inputs[0];
  const bool same = atoms->in_order() && graph.value(x).shape == graph.value(graph.node(id).outputs[0]).shape;
  if (!same || !bypass_node(graph, id, x)) become_rearrange(graph, id, x, *atoms);
  for (std::size_t i = chain.size() - 1; i-- > 0;) {  // a product that is taken from thrice goes with the last
    if (!graph.contains(chain[i])) continue;
    const ValueId made = graph.node(chain[i]).outputs[0];
    if (graph.consumers(made).empty() && !graph.is_output(made)) graph.remove_node(chain[i]);
  }
  return true;
}

}  // namespace

const NodePass fuse_rearrange{kMembers, fuse};

}  // namespace kinglet::engine::passes
