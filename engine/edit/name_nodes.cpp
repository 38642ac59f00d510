// SPDX-License-Identifier: Apache-2.0
// Every node gets a name of its own: the one kinglet shows for it anyway. Names that are good stay.

#include "engine/base/format.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {
namespace {

Result<void> apply(Context& context, const Arguments& /*arguments*/) {
  GraphProto& graph = *context.document.model().mutable_graph();
  const std::vector<std::string> shown = node_names(graph);
  Names taken;
  int named = 0;
  for (int i = 0; i < graph.node_size(); ++i) {
    const std::string& wanted = shown[static_cast<std::size_t>(i)];
    std::string name = wanted;
    for (int k = 1; !taken.insert(name).second; ++k) name = format_text("{}_{}", wanted, k);
    if (graph.node(i).name() == name) continue;
    graph.mutable_node(i)->set_name(name);
    ++named;
  }
  if (named > 0) context.notes.push_back(format_text("{} nodes got a name", named));
  return {};
}

}  // namespace

const VerbParts verbs::name_nodes{{}, apply};

}  // namespace kinglet::engine::edit
