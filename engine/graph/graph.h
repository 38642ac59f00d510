// SPDX-License-Identifier: Apache-2.0
// Why: the one inner form of a model between loading and planning. Operators are in their newest ONNX form
// ("inner form"); old opset forms were turned into it at load. NCHW, as in ONNX: layouts belong to the plan.
//
// A Graph is a value: copying copies nodes and shares constants. Thread-bound.
// Values and nodes are named by ids that stay valid until the thing is removed. Removed ids are never reused.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/graph/data_type.h"
#include "engine/graph/shape.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine {

enum class ValueId : std::uint32_t {};
enum class NodeId : std::uint32_t {};
inline constexpr ValueId kNoValue{0xFFFFFFFF};  // an optional input or output that is absent
inline constexpr NodeId kNoNode{0xFFFFFFFF};

// ONNX attributes that classifiers use. Sub-graphs never get here: they are refused at load.
using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                               std::vector<std::string>, Tensor>;

// Attributes by name, sorted by name so that printing and comparing are stable.
class Attributes {
 public:
  [[nodiscard]] const Attribute* find(std::string_view name) const;
  void set(std::string name, Attribute value);
  void remove(std::string_view name);

  // The value, or `fallback` when the attribute is absent. An attribute of another kind was refused at load.
  [[nodiscard]] std::int64_t get_int(std::string_view name, std::int64_t fallback) const;
  [[nodiscard]] float get_float(std::string_view name, float fallback) const;
  [[nodiscard]] std::string_view get_string(std::string_view name, std::string_view fallback) const;
  [[nodiscard]] std::vector<std::int64_t> get_ints(std::string_view name,
                                                   std::vector<std::int64_t> fallback = {}) const;
  [[nodiscard]] std::vector<float> get_floats(std::string_view name, std::vector<float> fallback = {}) const;

  [[nodiscard]] auto begin() const { return entries_.begin(); }
  [[nodiscard]] auto end() const { return entries_.end(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  std::vector<std::pair<std::string, Attribute>> entries_;
};

struct Value {
  std::string name;  // unique in the graph, never empty
  DataType type = DataType::kF32;
  std::optional<Shape> shape;      // absent: not even the rank is known
  std::optional<Tensor> constant;  // an initializer, or a folded result; then no producer
  NodeId producer = kNoNode;
};

struct Node {
  std::string op_type;          // as ONNX writes it: "Conv"
  std::string domain;           // "" for the default domain
  std::string name;             // may be empty in the file; unique and non-empty here
  std::vector<ValueId> inputs;  // kNoValue where an optional input is absent
  std::vector<ValueId> outputs;
  Attributes attributes;
};

struct GraphInput {
  ValueId value;
  std::vector<std::string> dim_names;  // one a dimension, empty where the size is fixed or nameless
};

class Graph {
 public:
  // --- Reading -------------------------------------------------------------------------------------------------
  // Node ids in an order in which every value is made before it is used.
  [[nodiscard]] const std::vector<NodeId>& nodes() const { return order_; }
  // One past the newest node id ever given: nodes added later are at or behind it.
  [[nodiscard]] NodeId end_node() const { return NodeId{static_cast<std::uint32_t>(nodes_.size())}; }
  [[nodiscard]] std::size_t node_count() const { return order_.size(); }
  [[nodiscard]] const Node& node(NodeId id) const;
  [[nodiscard]] const Value& value(ValueId id) const;
  [[nodiscard]] bool contains(NodeId id) const;
  [[nodiscard]] bool contains(ValueId id) const;
  [[nodiscard]] std::vector<ValueId> values() const;  // all that exist, in order of creation
  [[nodiscard]] const std::vector<GraphInput>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<ValueId>& outputs() const { return outputs_; }
  [[nodiscard]] bool is_input(ValueId id) const;
  [[nodiscard]] bool is_output(ValueId id) const;
  // Nodes that read the value; a node that reads it twice is listed twice.
  [[nodiscard]] const std::vector<NodeId>& consumers(ValueId id) const;
  [[nodiscard]] std::optional<ValueId> find_value(std::string_view name) const;
  // The constant behind the id, or nullptr (absent input, computed value).
  [[nodiscard]] const Tensor* constant(ValueId id) const;
  // The value is read by exactly one node, once, and is not a graph output: it may vanish with that node.
  [[nodiscard]] bool has_single_use(ValueId id) const;

  // --- Writing. Each keeps use lists, producers and order right; misuse is an own bug (KINGLET_CHECK). ------------
  // The name is made unique by a suffix when it is taken or empty.
  ValueId add_value(std::string name, DataType type, std::optional<Shape> shape);
  ValueId add_constant(std::string name, Tensor tensor);
  ValueId add_input(std::string name, DataType type, std::optional<Shape> shape, std::vector<std::string> dim_names);
  void add_output(ValueId id);
  // Appends; every input must exist already. Outputs must be values without producer or constant.
  NodeId add_node(Node node);
  // The same in front of `before`, for rewrites.
  NodeId insert_node(NodeId before, Node node);
  // Only when no output is read or is a graph output; its outputs vanish, constants left unused stay.
  void remove_node(NodeId id);
  void set_input(NodeId node, std::size_t index, ValueId value);
  void resize_inputs(NodeId node, std::size_t count);  // new ones are kNoValue
  // Drops the trailing or middle output, which nobody may read.
  void remove_output(NodeId node, std::size_t index);
  Attributes& attributes(NodeId id);
  void set_op_type(NodeId id, std::string domain, std::string op_type);
  // Every reader of `from` reads `to`. Graph outputs are untouched (their names are the user's): see take_output.
  void replace_uses(ValueId from, ValueId to);
  // Makes `replacement` the graph output in place of `old`: it gets old's name, old gets a new one. Both computed or
  // constant, `replacement` neither graph input nor already an output.
  void take_output(ValueId old, ValueId replacement);
  void set_type_and_shape(ValueId id, DataType type, std::optional<Shape> shape);
  void set_constant(ValueId id, Tensor tensor);  // no producer: detach_output first
  // Cuts the value off its producer (the node keeps kNoValue there), so that it can become a constant.
  void detach_output(ValueId id);
  void set_input_shape(std::size_t input_index, Shape shape);  // binds free dimensions
  void remove_value(ValueId id);                               // unused, no producer, not input or output
  // A node whose name one before it has gets a suffix.
  void separate_names();
  // Restores order after rewrites that broke it (an input now made later). False: there is a cycle.
  [[nodiscard]] bool sort();

  // Facts of the file that travel with the graph.
  struct Metadata {
    std::string graph_name;
    std::string producer;
    std::int64_t opset = 0;  // of the default domain, as loaded
    std::int64_t ir_version = 0;
    std::vector<std::pair<std::string, std::string>> properties;
  } metadata;

 private:
  struct ValueSlot {
    Value value;
    std::vector<NodeId> consumers;
    bool exists = true;
  };
  struct NodeSlot {
    Node node;
    bool exists = true;
  };
  ValueSlot& slot(ValueId id);
  NodeSlot& slot(NodeId id);
  std::string unique_name(std::string name);
  NodeId link(Node node);
  void unlink_use(ValueId value, NodeId node);

  std::vector<ValueSlot> values_;
  std::vector<NodeSlot> nodes_;
  std::vector<NodeId> order_;
  std::vector<GraphInput> inputs_;
  std::vector<ValueId> outputs_;
  std::unordered_map<std::string, ValueId> names_;
};

}  // namespace kinglet::engine
