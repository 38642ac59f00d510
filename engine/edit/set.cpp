// SPDX-License-Identifier: Apache-2.0
// Attributes of nodes: other values, new ones, or none.

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/proto_text.h"
#include "engine/edit/verbs.h"

namespace kinglet::engine::edit {
namespace {

struct Target {
  NodeProto* node = nullptr;
  std::string attribute;
};

Result<Target> find_target(GraphProto& graph, std::string_view text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == text.size()) {
    return fail(ErrorCode::kUsage, format_text("\"{}\" is not NODE.ATTRIBUTE", printable(text)), {},
                "for example conv1.strides");
  }
  return Target{KINGLET_TRY(find_node(graph, text.substr(0, dot))), std::string(text.substr(dot + 1))};
}

Result<void> apply(Context& context, const Arguments& arguments) {
  GraphProto& graph = *context.document.model().mutable_graph();
  if (!arguments.has("NODE.ATTRIBUTE=VALUE") && !arguments.has("--remove")) {
    return fail(ErrorCode::kUsage, "no attribute is named", {}, "set conv1.strides=2,2");
  }
  for (const std::string& text : arguments.all("NODE.ATTRIBUTE=VALUE")) {
    const Assignment wish = KINGLET_TRY(split_assignment(text, "NODE.ATTRIBUTE=VALUE"));
    const Target target = KINGLET_TRY(find_target(graph, wish.name));
    KINGLET_TRY(set_attribute(*target.node, target.attribute, wish.value));
  }
  for (const std::string& text : arguments.all("--remove")) {
    const Target target = KINGLET_TRY(find_target(graph, text));
    const int gone =
        remove_rows(*target.node->mutable_attribute(), [&](const auto& row) { return row.name() == target.attribute; });
    if (gone > 0) continue;
    return fail(ErrorCode::kUsage, format_text("has no attribute \"{}\"", printable(target.attribute)),
                place(*target.node));
  }
  context.shapes_changed();
  return {};
}

}  // namespace

const VerbParts verbs::set{{{"NODE.ATTRIBUTE=VALUE", "", "numbers, lists (1,2) or text", Take::kMany},
                            {"--remove", "NODE.ATTRIBUTE", "remove an attribute", Take::kMany}},
                           apply};

}  // namespace kinglet::engine::edit
