// SPDX-License-Identifier: Apache-2.0
#include "engine/edit/edit.h"

#include <onnx/onnx.pb.h>

#include <string_view>
#include <unordered_map>

#include "engine/edit/graph_tools.h"
#include "engine/onnx/older/older_forms.h"
#include "engine/onnx/save.h"

namespace kinglet::engine {
namespace {

using ::onnx::ModelProto;

// Rows of `made` that are called as one of `old` get its doc string.
template <typename Rows>
void keep_doc_strings(const Rows& old, Rows& made) {
  std::unordered_map<std::string_view, std::string_view> texts;
  for (const auto& row : old) {
    if (!row.name().empty() && !row.doc_string().empty()) texts.emplace(row.name(), row.doc_string());
  }
  for (auto& row : made) {
    const auto text = texts.find(row.name());
    if (text != texts.end()) row.set_doc_string(std::string(text->second));
  }
}

// What a Graph does not carry, or carries in other words.
void keep_facts(const ModelProto& old, ModelProto& made) {
  const std::int64_t ir_version = std::max(old.ir_version(), made.ir_version());
  made.set_ir_version(ir_version);
  made.set_producer_name(old.producer_name());
  made.set_producer_version(old.producer_version());
  made.set_domain(old.domain());
  made.set_model_version(old.model_version());
  made.set_doc_string(old.doc_string());
  *made.mutable_metadata_props() = old.metadata_props();
  made.mutable_graph()->set_name(old.graph().name());
  made.mutable_graph()->set_doc_string(old.graph().doc_string());
  keep_doc_strings(old.graph().node(), *made.mutable_graph()->mutable_node());
  keep_doc_strings(old.graph().initializer(), *made.mutable_graph()->mutable_initializer());
  keep_doc_strings(old.graph().input(), *made.mutable_graph()->mutable_input());
  for (auto& output : *made.mutable_graph()->mutable_output()) {
    for (const auto& declared : old.graph().output()) {
      if (declared.name() == output.name()) output = declared;
    }
  }
}

// Opsets 9 and 10 belong to IR version 3 to 5, and so on; a reader of that time refuses newer ones.
std::int64_t ir_version_of(std::int64_t opset) {
  return opset >= 21 ? 10 : opset >= 19 ? 9 : opset >= 15 ? 8 : opset >= 12 ? 7 : opset >= 11 ? 6 : opset >= 10 ? 5 : 4;
}

}  // namespace

Result<OpsetChange> change_opset(Document& document, std::int64_t opset) {
  OpsetChange change{.from = edit::opset_of(document.model())};
  if (change.from == opset) return change;
  change.changed = true;
  change.before = KINGLET_TRY(document.to_graph());
  Graph older = change.before;
  KINGLET_TRY(take_forms_of_opset(older, opset));
  std::string bytes = KINGLET_TRY(to_onnx_bytes(older, opset));
  Document made = KINGLET_TRY(Document::from_bytes(std::move(bytes)));
  made.model().set_ir_version(ir_version_of(opset));
  keep_facts(document.model(), made.model());
  if (change.from > opset) made.model().set_ir_version(ir_version_of(opset));
  change.after = KINGLET_TRY(made.to_graph());
  const bool beside = document.weights_were_beside();
  document = std::move(made);
  if (beside) document.keep_weights_beside();
  return change;
}

void set_property(Document& document, std::string_view key, std::string value) {
  for (auto& row : *document.model().mutable_metadata_props()) {
    if (row.key() != key) continue;
    row.set_value(std::move(value));
    return;
  }
  auto& row = *document.model().add_metadata_props();
  row.set_key(std::string(key));
  row.set_value(std::move(value));
}

std::string property(const Document& document, std::string_view key) {
  for (const auto& row : document.model().metadata_props()) {
    if (row.key() == key) return row.value();
  }
  return {};
}

}  // namespace kinglet::engine
