// SPDX-License-Identifier: Apache-2.0
// What a model does not need to run goes: doc strings with the exporter's stack traces, declared inner shapes,
// metadata.

#include "engine/base/format.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {
namespace {

template <typename List>
void clear_docs(List& rows) {
  for (auto& row : rows) row.clear_doc_string();
}

void clear_graph_docs(GraphProto& graph) {  // NOLINT(misc-no-recursion): protobuf bounds the depth
  graph.clear_doc_string();
  clear_docs(*graph.mutable_initializer());
  clear_docs(*graph.mutable_input());
  clear_docs(*graph.mutable_output());
  clear_docs(*graph.mutable_value_info());
  for (NodeProto& node : *graph.mutable_node()) {
    node.clear_doc_string();
    node.clear_metadata_props();  // the newer exporter's stack traces
    for (auto& attribute : *node.mutable_attribute()) {
      attribute.clear_doc_string();
      if (attribute.has_t()) attribute.mutable_t()->clear_doc_string();
      if (attribute.has_g()) clear_graph_docs(*attribute.mutable_g());
      for (GraphProto& inner : *attribute.mutable_graphs()) clear_graph_docs(inner);
    }
  }
}

Result<void> apply(Context& context, const Arguments& arguments) {
  ::onnx::ModelProto& model = context.document.model();
  const bool all = arguments.has("--all");
  const bool any = arguments.has("--shapes") || arguments.has("--metadata") || arguments.has("--docs");
  if (all || arguments.has("--docs") || !any) {
    model.clear_doc_string();
    clear_graph_docs(*model.mutable_graph());
  }
  if (all || arguments.has("--shapes")) model.mutable_graph()->clear_value_info();
  if (all || arguments.has("--metadata")) {
    const int gone = remove_rows(*model.mutable_metadata_props(),
                                 [](const auto& row) { return !row.key().starts_with("kinglet."); });
    model.mutable_graph()->clear_metadata_props();
    if (gone > 0) context.notes.push_back(format_text("{} metadata entries are gone; labels and recipe stay", gone));
  }
  return {};
}

}  // namespace

const VerbParts verbs::strip{{{"--docs", "", "doc strings and stack traces (the default)", Take::kFlag},
                              {"--shapes", "", "declared types of inner tensors", Take::kFlag},
                              {"--metadata", "", "metadata of the model, but for labels and recipe", Take::kFlag},
                              {"--all", "", "all of these", Take::kFlag}},
                             apply};

}  // namespace kinglet::engine::edit
