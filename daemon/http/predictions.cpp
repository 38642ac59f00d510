// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/predictions/latest: reads the latest value, never the pipeline.
#include "daemon/http/json.h"
#include "daemon/http/routes.h"

namespace kinglet::daemon::http {

Reply get_latest_prediction(const Context& context, const Call& /*call*/) {
  const std::optional<Prediction> latest = context.latest.get();
  if (!latest || !context.model) return {.status = 204, .headers = {{"Cache-Control", "no-store"}}};
  return json_reply(to_json(*latest, *context.model, context.source_name).dump(), "no-store");
}

}  // namespace kinglet::daemon::http
