// SPDX-License-Identifier: Apache-2.0
// Other names for nodes and tensors: whole ones, or everything that begins alike. Numbers stay.
#include <algorithm>
#include <optional>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {
namespace {

struct Rule {
  std::string from, to;
  bool prefix = false;

  [[nodiscard]] std::optional<std::string> operator()(const std::string& name) const {
    if (!prefix) return name == from ? std::optional(to) : std::nullopt;
    if (name.empty() || !name.starts_with(from)) return std::nullopt;
    return to + name.substr(from.size());
  }
};

Result<Rule> parse_rule(const std::string& text) {
  const Assignment parts = KINGLET_TRY(split_assignment(text, "OLD=NEW"));
  Rule rule{.from = parts.name, .to = parts.value, .prefix = parts.name.ends_with('*')};
  if (rule.prefix != parts.value.ends_with('*')) {
    return fail(ErrorCode::kUsage, format_text("\"{}\" has a star on one side only", printable(text)), {},
                "whole names: old=new; beginnings: old*=new*");
  }
  if (rule.prefix) {
    rule.from.pop_back();
    rule.to.pop_back();
  } else if (rule.to.empty()) {
    return fail(ErrorCode::kUsage, format_text("\"{}\" has no new name", printable(text)));
  }
  return rule;
}

Result<int> rename_values(GraphProto& graph, const Rule& rule) {
  Names inner;
  for (const NodeProto& node : graph.node()) names_in_subgraphs(node, inner);
  std::optional<std::string> bad;
  Names renamed;
  Names untouched;
  for_each_value_name(graph, [&](std::string& name) {
    const auto other = rule(name);
    if (!other) {
      untouched.insert(name);
      return;
    }
    if (inner.contains(name) || other->empty()) bad = name;
    renamed.insert(*other);
    name = *other;
  });
  if (bad) {
    return fail(
        ErrorCode::kUnsupported,
        format_text("\"{}\" cannot be renamed: a sub-graph reads it, or nothing would be left", printable(*bad)));
  }
  const auto clash = std::ranges::find_if(renamed, [&](const std::string& name) { return untouched.contains(name); });
  if (clash != renamed.end()) {
    return fail(ErrorCode::kUsage, format_text("there is a tensor \"{}\" already", printable(*clash)), {},
                "choose another new name");
  }
  return static_cast<int>(renamed.size());
}

Result<int> rename_nodes(GraphProto& graph, const Rule& rule) {
  Names others;
  for (const NodeProto& node : graph.node()) {
    if (!rule(node.name())) others.insert(node.name());
  }
  int count = 0;
  for (NodeProto& node : *graph.mutable_node()) {
    const auto other = rule(node.name());
    if (!other) continue;
    if (others.contains(*other) && !other->empty()) {
      return fail(ErrorCode::kUsage, format_text("there is a node \"{}\" already", printable(*other)), {},
                  "choose another new name");
    }
    node.set_name(*other);
    ++count;
  }
  return count;
}

Result<void> apply(Context& context, const Arguments& arguments) {
  GraphProto& graph = *context.document.model().mutable_graph();
  const bool nodes = !arguments.has("--tensors");
  const bool tensors = !arguments.has("--nodes");
  for (const std::string& text : arguments.all("OLD=NEW")) {
    const Rule rule = KINGLET_TRY(parse_rule(text));
    int count = 0;
    if (tensors) count += KINGLET_TRY(rename_values(graph, rule));
    if (nodes) count += KINGLET_TRY(rename_nodes(graph, rule));
    if (count > 0) continue;
    Names names = values_made(graph);
    for (const NodeProto& node : graph.node()) names.insert(node.name());
    const std::vector<std::string_view> all(names.begin(), names.end());
    const std::string_view nearest = nearest_name(rule.from, all);
    return fail(ErrorCode::kUsage,
                format_text("nothing is named \"{}{}\"", printable(rule.from), rule.prefix ? "*" : ""), {},
                nearest.empty() ? "" : format_text("did you mean \"{}\"?", printable(nearest)));
  }
  return {};
}

}  // namespace

const VerbParts verbs::rename{{{"OLD=NEW", "", "a whole name, or a beginning: old*=new*", Take::kMany, true},
                               {"--nodes", "", "names of nodes alone", Take::kFlag},
                               {"--tensors", "", "names of tensors alone", Take::kFlag}},
                              apply};

}  // namespace kinglet::engine::edit
