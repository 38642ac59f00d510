// SPDX-License-Identifier: Apache-2.0
#include "engine/edit/graph_tools.h"

#include <algorithm>
#include <queue>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/proto_text.h"
#include "engine/onnx/import.h"

namespace kinglet::engine::edit {
namespace {

std::string nearest_hint(std::string_view word, const std::vector<std::string_view>& names,
                         std::string_view otherwise) {
  const std::string_view nearest = nearest_name(word, names);
  return nearest.empty() ? std::string(otherwise) : format_text("did you mean \"{}\"?", printable(nearest));
}

// Node -> nodes that read what it makes, once a read; and how many of its reads are made by nodes.
struct Links {
  std::vector<std::vector<int>> readers;
  std::vector<int> open_reads;
};

Links link(const GraphProto& graph) {
  const auto count = static_cast<std::size_t>(graph.node_size());
  Links links{.readers = std::vector<std::vector<int>>(count), .open_reads = std::vector<int>(count, 0)};
  std::unordered_map<std::string_view, int> maker;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : graph.node(i).output()) maker.emplace(name, i);
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    Names reads(graph.node(i).input().begin(), graph.node(i).input().end());
    names_in_subgraphs(graph.node(i), reads);
    for (const std::string& name : reads) {
      const auto from = name.empty() ? maker.end() : maker.find(name);
      if (from == maker.end() || from->second == i) continue;
      links.readers[static_cast<std::size_t>(from->second)].push_back(i);
      ++links.open_reads[static_cast<std::size_t>(i)];
    }
  }
  return links;
}

void remove_unread_rows(GraphProto& graph, const Names& needed) {
  const auto unread = [&](const auto& row) { return !needed.contains(row.name()); };
  Names borders;
  for (const auto& input : graph.input()) borders.insert(input.name());
  for (const auto& output : graph.output()) borders.insert(output.name());
  remove_rows(*graph.mutable_initializer(),
              [&](const auto& row) { return unread(row) && !borders.contains(row.name()); });
  Names made = needed;
  for (const NodeProto& node : graph.node()) made.insert(node.output().begin(), node.output().end());
  remove_rows(*graph.mutable_value_info(), [&](const auto& row) { return !made.contains(row.name()); });
  remove_rows(*graph.mutable_quantization_annotation(),
              [&](const auto& row) { return !made.contains(row.tensor_name()); });
}

}  // namespace

std::vector<std::string> node_names(const GraphProto& graph) {
  std::vector<std::string> names;
  onnx_format::NodeNamer namer;
  for (const NodeProto& node : graph.node()) {
    const bool constant = node.op_type() == "Constant" && onnx_format::canonical_domain(node.domain()).empty();
    names.push_back(constant ? name_of(node) : namer(node));
  }
  return names;
}

Result<NodeProto*> find_node(GraphProto& graph, std::string_view name) {
  const std::vector<std::string> names = node_names(graph);
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return graph.mutable_node(static_cast<int>(found - names.begin()));
  for (NodeProto& node : *graph.mutable_node()) {
    if (!name.empty() && std::ranges::contains(node.output(), name)) return &node;
  }
  return fail(ErrorCode::kUsage, format_text("the model has no node \"{}\"", printable(name)), {},
              nearest_hint(name, {names.begin(), names.end()}, "`kinglet inspect MODEL --shapes` lists the nodes"));
}

Names values_made(const GraphProto& graph) {
  Names names;
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const NodeProto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
  names.erase("");
  return names;
}

Result<void> require_value(const GraphProto& graph, const std::string& name) {
  const Names names = values_made(graph);
  if (names.contains(name)) return {};
  return fail(ErrorCode::kUsage, format_text("the model has no tensor \"{}\"", printable(name)), {},
              nearest_hint(name, {names.begin(), names.end()}, "`kinglet inspect MODEL --html FILE` shows all names"));
}

std::string free_name(const GraphProto& graph, const std::string& wanted) {
  const Names names = values_made(graph);
  if (!names.contains(wanted)) return wanted;
  for (std::size_t i = 1;; ++i) {
    std::string name = format_text("{}_{}", wanted, i);
    if (!names.contains(name)) return name;
  }
}

void names_in_subgraphs(const NodeProto& node, Names& out) {  // NOLINT(misc-no-recursion): protobuf bounds the depth
  const auto visit = [&](const GraphProto& graph) {
    for (const NodeProto& inner : graph.node()) {
      out.insert(inner.input().begin(), inner.input().end());
      names_in_subgraphs(inner, out);
    }
    for (const auto& output : graph.output()) out.insert(output.name());
  };
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const GraphProto& graph : attribute.graphs()) visit(graph);
  }
}

void for_each_value_name(GraphProto& graph, const std::function<void(std::string&)>& visit) {
  const auto visit_named = [&](auto& rows) {
    for (auto& row : rows) visit(*row.mutable_name());
  };
  visit_named(*graph.mutable_input());
  visit_named(*graph.mutable_output());
  visit_named(*graph.mutable_value_info());
  visit_named(*graph.mutable_initializer());
  for (auto& row : *graph.mutable_quantization_annotation()) visit(*row.mutable_tensor_name());
  for (NodeProto& node : *graph.mutable_node()) {
    for (std::string& name : *node.mutable_input()) visit(name);
    for (std::string& name : *node.mutable_output()) visit(name);
  }
}

void replace_reads(GraphProto& graph, const std::string& from, const std::string& to) {
  for (NodeProto& node : *graph.mutable_node()) {
    for (std::string& name : *node.mutable_input()) {
      if (name == from) name = to;
    }
  }
}

int remove_unused(GraphProto& graph) {
  std::unordered_map<std::string, int> maker;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : graph.node(i).output()) maker.emplace(name, i);
  }
  Names needed;
  std::vector<bool> used(static_cast<std::size_t>(graph.node_size()), false);
  std::vector<std::string> open;
  const auto need = [&](const std::string& name) {
    if (!name.empty() && needed.insert(name).second) open.push_back(name);
  };
  for (const auto& output : graph.output()) need(output.name());
  while (!open.empty()) {
    const auto made_by = maker.find(open.back());
    open.pop_back();
    if (made_by == maker.end() || used[static_cast<std::size_t>(made_by->second)]) continue;
    used[static_cast<std::size_t>(made_by->second)] = true;
    Names reads(graph.node(made_by->second).input().begin(), graph.node(made_by->second).input().end());
    names_in_subgraphs(graph.node(made_by->second), reads);
    for (const std::string& name : reads) need(name);
  }
  std::size_t at = 0;
  const int removed = remove_rows(*graph.mutable_node(), [&](const NodeProto& /*node*/) { return !used[at++]; });
  remove_unread_rows(graph, needed);
  return removed;
}

Result<void> sort_nodes(GraphProto& graph) {
  Links links = link(graph);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;  // the first of the file goes first
  for (int i = 0; i < graph.node_size(); ++i) {
    if (links.open_reads[static_cast<std::size_t>(i)] == 0) ready.push(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int reader : links.readers[static_cast<std::size_t>(node)]) {
      if (--links.open_reads[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (std::ssize(order) != graph.node_size()) {
    const auto stuck = std::ranges::find_if(links.open_reads, [](int reads) { return reads > 0; });
    return fail(ErrorCode::kBadData, "is part of a cycle, or behind one",
                place(graph.node(static_cast<int>(stuck - links.open_reads.begin()))));
  }
  if (std::ranges::is_sorted(order)) return {};
  ::google::protobuf::RepeatedPtrField<NodeProto> sorted;
  sorted.Reserve(graph.node_size());
  for (const int node : order) sorted.Add()->Swap(graph.mutable_node(node));
  graph.mutable_node()->Swap(&sorted);
  return {};
}

std::string add_initializer(Document& document, const std::string& name, const Tensor& tensor) {
  GraphProto& graph = *document.model().mutable_graph();
  const std::string free = free_name(graph, name);
  auto& proto = *graph.add_initializer();
  proto.set_name(free);
  document.set_tensor(proto, tensor);
  return free;
}

std::int64_t opset_of(const ::onnx::ModelProto& model) {
  for (const auto& entry : model.opset_import()) {
    if (onnx_format::canonical_domain(entry.domain()).empty()) return entry.version();
  }
  return 1;
}

Result<void> check_connections(const GraphProto& graph) {
  Names made;
  const auto claim = [&](const std::string& name, const std::string& who) -> Result<void> {
    if (name.empty()) return fail(ErrorCode::kBadData, "has no name", who);
    if (made.insert(name).second) return {};
    return fail(ErrorCode::kBadData, format_text("makes \"{}\", which is there already", printable(name)), who,
                "rename one of the two");
  };
  for (const auto& tensor : graph.initializer()) {
    KINGLET_TRY(claim(tensor.name(), format_text("weight \"{}\"", printable(tensor.name()))));
  }
  Names inputs;
  for (const auto& input : graph.input()) {
    const std::string who = format_text("input \"{}\"", printable(input.name()));
    if (!inputs.insert(input.name()).second) return fail(ErrorCode::kBadData, "is listed twice", who);
    made.insert(input.name());  // may be a weight, too: a default
  }
  for (const NodeProto& node : graph.node()) {
    for (const std::string& name : node.output()) {
      if (!name.empty() && inputs.contains(name)) {
        return fail(ErrorCode::kBadData, format_text("makes \"{}\", which is an input", printable(name)), place(node));
      }
      if (!name.empty()) KINGLET_TRY(claim(name, place(node)));
    }
  }
  for (const NodeProto& node : graph.node()) {
    for (const std::string& name : node.input()) {
      if (name.empty() || made.contains(name)) continue;
      return fail(ErrorCode::kBadData, format_text("reads \"{}\", which nothing makes", printable(name)), place(node));
    }
  }
  Names outputs;
  for (const auto& output : graph.output()) {
    const std::string who = format_text("output \"{}\"", printable(output.name()));
    if (!made.contains(output.name())) return fail(ErrorCode::kBadData, "nothing makes it", who);
    if (!outputs.insert(output.name()).second) return fail(ErrorCode::kBadData, "is listed twice", who);
  }
  return {};
}

}  // namespace kinglet::engine::edit
