// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet inspect --diff A B`: what happened to a file, by name and operator. It also works on files kinglet
// cannot run.
#include <nlohmann/json.hpp>

#include "cli/inspect.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/diff.h"

namespace kinglet::cli {
namespace {

using engine::Changed;
using engine::FileSummary;
using engine::ModelDiff;
using Json = nlohmann::ordered_json;

Json nodes_json(const std::vector<engine::NamedNode>& nodes) {
  Json out = Json::array();
  for (const engine::NamedNode& node : nodes) out.push_back({{"name", node.name}, {"operator", node.op_type}});
  return out;
}

Json changes_json(const std::vector<Changed>& rows) {
  Json out = Json::array();
  for (const Changed& row : rows) {
    Json one{{"name", row.name}};
    if (!row.op_type.empty()) one["operator"] = row.op_type;
    one["change"] = row.what;
    out.push_back(std::move(one));
  }
  return out;
}

Json summary_json(const FileSummary& summary) {
  return {{"nodes", summary.nodes},
          {"operators", summary.operators},
          {"parameters", summary.parameters},
          {"weight_bytes", summary.weight_bytes},
          {"opset", summary.opset}};
}

Json to_json(const ModelDiff& diff) {
  return {
      {"same", diff.same()},
      {"before", summary_json(diff.before)},
      {"after", summary_json(diff.after)},
      {"nodes",
       {{"gone", nodes_json(diff.gone)}, {"came", nodes_json(diff.came)}, {"changed", changes_json(diff.nodes)}}},
      {"weights", {{"gone", diff.weights_gone}, {"came", diff.weights_came}, {"changed", changes_json(diff.weights)}}},
      {"inputs", changes_json(diff.inputs)},
      {"outputs", changes_json(diff.outputs)},
      {"metadata", changes_json(diff.metadata)}};
}

void print_counts(const ModelDiff& diff, Output& out) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> operators;
  for (const auto& [name, count] : diff.before.operators) operators[name].first = count;
  for (const auto& [name, count] : diff.after.operators) operators[name].second = count;
  Table table({"OPERATOR", ">BEFORE", ">AFTER"});
  for (const auto& [name, count] : operators) {
    if (count.first != count.second) table.add({name, std::to_string(count.first), std::to_string(count.second)});
  }
  table.add({"all nodes", grouped(static_cast<std::int64_t>(diff.before.nodes)),
             grouped(static_cast<std::int64_t>(diff.after.nodes))});
  table.add({"parameters", grouped(diff.before.parameters), grouped(diff.after.parameters)});
  table.add({"weights", human_bytes(diff.before.weight_bytes), human_bytes(diff.after.weight_bytes)});
  table.add({"opset", std::to_string(diff.before.opset), std::to_string(diff.after.opset)});
  out.print(table.text(out));
}

void print_nodes(std::string_view title, const std::vector<engine::NamedNode>& nodes, Output& out) {
  if (nodes.empty()) return;
  Table table({format_text("{} NODE", title), "OPERATOR"});
  for (const engine::NamedNode& node : nodes) table.add({printable(node.name, 80), printable(node.op_type, 60)});
  out.print("\n" + table.text(out));
}

void print_changes(std::string_view title, const std::vector<Changed>& rows, Output& out) {
  if (rows.empty()) return;
  Table table({std::string(title), "CHANGE"});
  for (const Changed& row : rows) {
    const std::string name = printable(row.name, 80) + (row.op_type.empty() ? "" : format_text(" ({})", row.op_type));
    table.add({name, printable(row.what, 400)});
  }
  out.print("\n" + table.text(out));
}

void print_names(std::string_view title, const std::vector<std::string>& names, Output& out) {
  if (names.empty()) return;
  Table table({format_text("{} WEIGHT", title)});
  for (const std::string& name : names) table.add({printable(name, 80)});
  out.print("\n" + table.text(out));
}

}  // namespace

Result<void> print_diff(const std::string& before, const std::string& after, Output& out) {
  const engine::Document a = KINGLET_TRY(engine::Document::open(before));
  const engine::Document b = KINGLET_TRY(engine::Document::open(after));
  const ModelDiff diff = KINGLET_TRY(engine::diff_documents(a, b));
  if (out.json()) {
    out.print_json(to_json(diff));
    return {};
  }
  if (diff.same()) out.print("same nodes, weights, inputs, outputs and metadata\n\n");
  print_counts(diff, out);
  print_nodes("REMOVED", diff.gone, out);
  print_nodes("NEW", diff.came, out);
  print_changes("CHANGED NODE", diff.nodes, out);
  print_names("REMOVED", diff.weights_gone, out);
  print_names("NEW", diff.weights_came, out);
  print_changes("CHANGED WEIGHT", diff.weights, out);
  print_changes("INPUT", diff.inputs, out);
  print_changes("OUTPUT", diff.outputs, out);
  print_changes("METADATA", diff.metadata, out);
  return {};
}

}  // namespace kinglet::cli
