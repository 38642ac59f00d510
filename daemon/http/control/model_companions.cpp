// SPDX-License-Identifier: Apache-2.0
// Why: PUT /api/v1/models/{name}/labels and /recipe, DELETE /models/{name}: what a model of one's own lacks, and its
// end.
#include "daemon/http/control/models.h"
#include "daemon/http/control/settings.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "visits/lines.h"

namespace kinglet::daemon::http {
namespace {

bool is_text(const Call& call) { return call.content_type.starts_with("text/"); }

Reply kept_reply(const std::expected<KnownModel, ModelKeeper::Refused>& model) {
  if (!model) return refusal_reply(model.error());
  return json_reply(known_model_json(*model).dump(-1, ' ', false, Json::error_handler_t::replace), "no-store");
}

// A preset as text, by its name, becomes the recipe that names it.
std::string recipe_of(const Call& call) {
  if (!is_text(call)) return call.body;
  const std::string_view name = visits::trimmed(call.body, " \t\r\n");
  return name.empty() ? std::string() : Json{{"preset", name}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Reply put_model_labels(const ModelsView& view, const Call& call) {
  if (!is_text(call)) {
    return problem("unsupported-media-type", "labels are text, one a line", "send Content-Type: text/plain");
  }
  return kept_reply(view.keeper.set_labels(call.path_parameter("name"), call.body, who(call)));
}

Reply put_model_recipe(const ModelsView& view, const Call& call) {
  if (!is_text(call) && call.content_type != "application/json") {
    return problem("unsupported-media-type", "a recipe is JSON, or the name of a preset as text",
                   "send Content-Type: application/json, or text/plain");
  }
  return kept_reply(view.keeper.set_recipe(call.path_parameter("name"), recipe_of(call), who(call)));
}

Reply delete_model(const ModelsView& view, const Call& call) {
  const auto removed = view.keeper.remove(call.path_parameter("name"), who(call));
  return removed ? Reply{.status = 204} : refusal_reply(removed.error());
}

}  // namespace kinglet::daemon::http
