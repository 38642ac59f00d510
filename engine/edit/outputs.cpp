// SPDX-License-Identifier: Apache-2.0
// Which tensors the model gives out: inner ones are added, others removed together with what only they needed.
#include <algorithm>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {
namespace {

Result<void> add(Context& context, const std::string& name) {
  GraphProto& graph = *context.document.model().mutable_graph();
  KINGLET_TRY(require_value(graph, name));
  if (std::ranges::contains(graph.output(), name, [](const auto& row) { return row.name(); })) {
    return fail(ErrorCode::kUsage, format_text("\"{}\" is an output already", printable(name)));
  }
  if (std::ranges::contains(graph.input(), name, [](const auto& row) { return row.name(); })) {
    return fail(ErrorCode::kUsage, format_text("\"{}\" is an input: it cannot be an output, too", printable(name)));
  }
  *graph.add_output() = KINGLET_TRY(context.type_of(name));
  return {};
}

Result<void> remove(GraphProto& graph, const std::string& name) {
  const int removed = remove_rows(*graph.mutable_output(), [&](const auto& row) { return row.name() == name; });
  if (removed > 0) return {};
  std::string listed;
  for (const auto& row : graph.output()) listed += (listed.empty() ? "" : ", ") + printable(row.name(), 60);
  return fail(ErrorCode::kUsage, format_text("\"{}\" is no output", printable(name)), {}, "outputs: " + listed);
}

Result<void> apply(Context& context, const Arguments& arguments) {
  GraphProto& graph = *context.document.model().mutable_graph();
  if (!arguments.has("--add") && !arguments.has("--remove")) {
    return fail(ErrorCode::kUsage, "nothing to add or to remove", {}, "outputs --add TENSOR, outputs --remove TENSOR");
  }
  for (const std::string& list : arguments.all("--add")) {
    for (const std::string& name : split_list(list)) KINGLET_TRY(add(context, name));
  }
  for (const std::string& list : arguments.all("--remove")) {
    for (const std::string& name : split_list(list)) KINGLET_TRY(remove(graph, name));
  }
  if (graph.output().empty()) return fail(ErrorCode::kUsage, "no output would be left");
  if (!arguments.has("--remove")) return {};
  const int gone = remove_unused(graph);
  if (gone > 0) context.notes.push_back(format_text("{} nodes that only the removed outputs needed are gone", gone));
  return {};
}

}  // namespace

const VerbParts verbs::outputs{
    {{"--add", "TENSOR[,TENSOR]", "make inner tensors outputs", Take::kMany},
     {"--remove", "OUTPUT[,OUTPUT]", "remove outputs, and what only they need", Take::kMany}},
    apply};

}  // namespace kinglet::engine::edit
