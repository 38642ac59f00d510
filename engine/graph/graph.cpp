// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/graph.h"

#include <algorithm>
#include <unordered_set>

#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::engine {
namespace {

template <typename T>
T get_or(const Attribute* attribute, T fallback) {
  if (attribute == nullptr) return fallback;
  const T* value = std::get_if<T>(attribute);
  KINGLET_CHECK(value != nullptr);
  return *value;
}

template <typename Range, typename T>
void erase_first(Range& range, const T& item) {
  const auto at = std::ranges::find(range, item);
  KINGLET_CHECK(at != range.end());
  range.erase(at);
}

}  // namespace

const Attribute* Attributes::find(std::string_view name) const {
  const auto at = std::ranges::find(entries_, name, &std::pair<std::string, Attribute>::first);
  return at == entries_.end() ? nullptr : &at->second;
}

void Attributes::set(std::string name, Attribute value) {
  const auto at = std::ranges::lower_bound(entries_, name, {}, &std::pair<std::string, Attribute>::first);
  if (at != entries_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_.emplace(at, std::move(name), std::move(value));
  }
}

void Attributes::remove(std::string_view name) {
  std::erase_if(entries_, [&](const auto& entry) { return entry.first == name; });
}

std::int64_t Attributes::get_int(std::string_view name, std::int64_t fallback) const {
  return get_or<std::int64_t>(find(name), fallback);
}

float Attributes::get_float(std::string_view name, float fallback) const { return get_or<float>(find(name), fallback); }

std::string_view Attributes::get_string(std::string_view name, std::string_view fallback) const {
  const Attribute* attribute = find(name);
  if (attribute == nullptr) return fallback;
  const auto* text = std::get_if<std::string>(attribute);
  KINGLET_CHECK(text != nullptr);
  return *text;
}

std::vector<std::int64_t> Attributes::get_ints(std::string_view name, std::vector<std::int64_t> fallback) const {
  return get_or<std::vector<std::int64_t>>(find(name), std::move(fallback));
}

std::vector<float> Attributes::get_floats(std::string_view name, std::vector<float> fallback) const {
  return get_or<std::vector<float>>(find(name), std::move(fallback));
}

// --- Reading ---------------------------------------------------------------------------------------------------

Graph::ValueSlot& Graph::slot(ValueId id) {
  KINGLET_CHECK(contains(id));
  return values_[std::to_underlying(id)];
}

Graph::NodeSlot& Graph::slot(NodeId id) {
  KINGLET_CHECK(contains(id));
  return nodes_[std::to_underlying(id)];
}

bool Graph::contains(NodeId id) const {
  return std::to_underlying(id) < nodes_.size() && nodes_[std::to_underlying(id)].exists;
}

bool Graph::contains(ValueId id) const {
  return std::to_underlying(id) < values_.size() && values_[std::to_underlying(id)].exists;
}

const Node& Graph::node(NodeId id) const {
  KINGLET_CHECK(contains(id));
  return nodes_[std::to_underlying(id)].node;
}

const Value& Graph::value(ValueId id) const {
  KINGLET_CHECK(contains(id));
  return values_[std::to_underlying(id)].value;
}

std::vector<ValueId> Graph::values() const {
  std::vector<ValueId> ids;
  for (std::uint32_t i = 0; i < values_.size(); ++i) {
    if (values_[i].exists) ids.push_back(ValueId{i});
  }
  return ids;
}

bool Graph::is_input(ValueId id) const { return std::ranges::find(inputs_, id, &GraphInput::value) != inputs_.end(); }

bool Graph::is_output(ValueId id) const { return std::ranges::find(outputs_, id) != outputs_.end(); }

const std::vector<NodeId>& Graph::consumers(ValueId id) const {
  KINGLET_CHECK(contains(id));
  return values_[std::to_underlying(id)].consumers;
}

std::optional<ValueId> Graph::find_value(std::string_view name) const {
  const auto at = names_.find(std::string(name));
  if (at == names_.end()) return std::nullopt;
  return at->second;
}

const Tensor* Graph::constant(ValueId id) const {
  if (id == kNoValue) return nullptr;
  const Value& found = value(id);
  return found.constant ? &*found.constant : nullptr;
}

bool Graph::has_single_use(ValueId id) const { return consumers(id).size() == 1 && !is_output(id); }

// --- Writing ---------------------------------------------------------------------------------------------------

std::string Graph::unique_name(std::string name) {
  if (name.empty()) name = "value";
  if (!names_.contains(name)) return name;
  for (std::size_t suffix = values_.size();; ++suffix) {
    std::string candidate = format_text("{}_{}", name, suffix);
    if (!names_.contains(candidate)) return candidate;
  }
}

ValueId Graph::add_value(std::string name, DataType type, std::optional<Shape> shape) {
  const ValueId id{static_cast<std::uint32_t>(values_.size())};
  name = unique_name(std::move(name));
  names_.emplace(name, id);
  values_.push_back(
      {.value = {.name = std::move(name), .type = type, .shape = std::move(shape), .constant = {}}, .consumers = {}});
  return id;
}

ValueId Graph::add_constant(std::string name, Tensor tensor) {
  const ValueId id = add_value(std::move(name), tensor.type(), tensor.shape());
  slot(id).value.constant = std::move(tensor);
  return id;
}

ValueId Graph::add_input(std::string name, DataType type, std::optional<Shape> shape,
                         std::vector<std::string> dim_names) {
  const ValueId id = add_value(std::move(name), type, std::move(shape));
  inputs_.push_back({id, std::move(dim_names)});
  return id;
}

void Graph::add_output(ValueId id) {
  KINGLET_CHECK(contains(id));
  outputs_.push_back(id);
}

NodeId Graph::link(Node node) {
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  if (node.name.empty()) node.name = format_text("{}_{}", node.op_type, nodes_.size());
  for (const ValueId input : node.inputs) {
    if (input != kNoValue) slot(input).consumers.push_back(id);
  }
  for (const ValueId output : node.outputs) {
    if (output == kNoValue) continue;
    Value& made = slot(output).value;
    KINGLET_CHECK(made.producer == kNoNode && !made.constant && !is_input(output));
    made.producer = id;
  }
  nodes_.push_back({.node = std::move(node)});
  return id;
}

NodeId Graph::add_node(Node node) {
  const NodeId id = link(std::move(node));
  order_.push_back(id);
  return id;
}

NodeId Graph::insert_node(NodeId before, Node node) {
  const auto at = std::ranges::find(order_, before);
  KINGLET_CHECK(at != order_.end());
  const auto index = at - order_.begin();
  const NodeId id = link(std::move(node));
  order_.insert(order_.begin() + index, id);
  return id;
}

void Graph::unlink_use(ValueId value, NodeId node) {
  if (value != kNoValue) erase_first(slot(value).consumers, node);
}

void Graph::remove_node(NodeId id) {
  NodeSlot& gone = slot(id);
  for (const ValueId output : gone.node.outputs) {
    if (output == kNoValue) continue;
    KINGLET_CHECK(consumers(output).empty() && !is_output(output));
    slot(output).value.producer = kNoNode;
    remove_value(output);
  }
  for (const ValueId input : gone.node.inputs) unlink_use(input, id);
  gone = NodeSlot{.node = {}, .exists = false};
  erase_first(order_, id);
}

void Graph::set_input(NodeId id, std::size_t index, ValueId value) {
  Node& changed = slot(id).node;
  KINGLET_CHECK(index < changed.inputs.size());
  unlink_use(changed.inputs[index], id);
  changed.inputs[index] = value;
  if (value != kNoValue) slot(value).consumers.push_back(id);
}

void Graph::resize_inputs(NodeId id, std::size_t count) {
  Node& changed = slot(id).node;
  for (std::size_t i = count; i < changed.inputs.size(); ++i) unlink_use(changed.inputs[i], id);
  changed.inputs.resize(count, kNoValue);
}

void Graph::remove_output(NodeId id, std::size_t index) {
  Node& changed = slot(id).node;
  KINGLET_CHECK(index < changed.outputs.size());
  const ValueId output = changed.outputs[index];
  if (output != kNoValue) {
    KINGLET_CHECK(consumers(output).empty() && !is_output(output));
    slot(output).value.producer = kNoNode;
    remove_value(output);
  }
  changed.outputs[index] = kNoValue;
  while (!changed.outputs.empty() && changed.outputs.back() == kNoValue) changed.outputs.pop_back();
}

Attributes& Graph::attributes(NodeId id) { return slot(id).node.attributes; }

void Graph::set_op_type(NodeId id, std::string domain, std::string op_type) {
  Node& changed = slot(id).node;
  changed.domain = std::move(domain);
  changed.op_type = std::move(op_type);
}

void Graph::replace_uses(ValueId from, ValueId to) {
  KINGLET_CHECK(from != to);
  std::vector<NodeId> readers = std::exchange(slot(from).consumers, {});
  for (const NodeId reader : readers) {  // listed once a use
    auto& inputs = slot(reader).node.inputs;
    const auto at = std::ranges::find(inputs, from);
    KINGLET_CHECK(at != inputs.end());
    *at = to;
    slot(to).consumers.push_back(reader);
  }
}

void Graph::take_output(ValueId old, ValueId replacement) {
  KINGLET_CHECK(is_output(old) && !is_output(replacement) && !is_input(replacement));
  Value& before = slot(old).value;
  Value& after = slot(replacement).value;
  std::swap(before.name, after.name);
  names_[before.name] = old;
  names_[after.name] = replacement;
  std::ranges::replace(outputs_, old, replacement);
}

void Graph::set_type_and_shape(ValueId id, DataType type, std::optional<Shape> shape) {
  Value& changed = slot(id).value;
  changed.type = type;
  changed.shape = std::move(shape);
}

void Graph::set_constant(ValueId id, Tensor tensor) {
  Value& changed = slot(id).value;
  KINGLET_CHECK(changed.producer == kNoNode);
  changed.type = tensor.type();
  changed.shape = tensor.shape();
  changed.constant = std::move(tensor);
}

void Graph::detach_output(ValueId id) {
  Value& changed = slot(id).value;
  KINGLET_CHECK(changed.producer != kNoNode);
  std::ranges::replace(slot(changed.producer).node.outputs, id, kNoValue);
  changed.producer = kNoNode;
}

void Graph::set_input_shape(std::size_t input_index, Shape shape) {
  KINGLET_CHECK(input_index < inputs_.size());
  slot(inputs_[input_index].value).value.shape = std::move(shape);
}

void Graph::remove_value(ValueId id) {
  ValueSlot& gone = slot(id);
  KINGLET_CHECK(gone.consumers.empty() && gone.value.producer == kNoNode && !is_input(id) && !is_output(id));
  names_.erase(gone.value.name);
  gone = ValueSlot{.value = {}, .consumers = {}, .exists = false};
}

void Graph::separate_names() {
  std::unordered_set<std::string> taken;
  std::vector<NodeId> doubles;
  for (const NodeId id : order_) {
    if (!taken.insert(node(id).name).second) doubles.push_back(id);
  }
  std::size_t suffix = nodes_.size();
  for (const NodeId id : doubles) {
    std::string& name = slot(id).node.name;
    std::string candidate;
    do {
      candidate = format_text("{}_{}", name, suffix++);
    } while (!taken.insert(candidate).second);
    name = std::move(candidate);
  }
}

bool Graph::sort() {
  // Kahn's algorithm; ready nodes are taken in their present order, so that a sorted graph keeps it.
  std::vector<std::size_t> missing(nodes_.size(), 0);
  std::vector<std::size_t> position(nodes_.size(), 0);
  for (std::size_t i = 0; i < order_.size(); ++i) position[std::to_underlying(order_[i])] = i;
  const auto later = [&](NodeId a, NodeId b) {
    return position[std::to_underlying(a)] > position[std::to_underlying(b)];
  };
  std::vector<NodeId> ready;
  for (const NodeId id : order_) {
    for (const ValueId input : node(id).inputs) {
      if (input != kNoValue && value(input).producer != kNoNode) ++missing[std::to_underlying(id)];
    }
    if (missing[std::to_underlying(id)] == 0) ready.push_back(id);
  }
  std::ranges::make_heap(ready, later);
  std::vector<NodeId> sorted;
  while (!ready.empty()) {
    std::ranges::pop_heap(ready, later);
    const NodeId id = ready.back();
    ready.pop_back();
    sorted.push_back(id);
    for (const ValueId output : node(id).outputs) {
      if (output == kNoValue) continue;
      for (const NodeId reader : consumers(output)) {
        if (--missing[std::to_underlying(reader)] > 0) continue;
        ready.push_back(reader);
        std::ranges::push_heap(ready, later);
      }
    }
  }
  if (sorted.size() != order_.size()) return false;
  order_ = std::move(sorted);
  return true;
}

}  // namespace kinglet::engine
