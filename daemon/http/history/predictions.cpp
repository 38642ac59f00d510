// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/predictions and /predictions/{id}: reads what the pipeline published, never the pipeline; those that
// a visit rests on are in the history as well.
#include "daemon/answer/latest.h"
#include "daemon/http/history/history.h"
#include "daemon/http/history/newest.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/models/model_board.h"
#include "store/store.h"

namespace kinglet::daemon::http {

namespace {

std::string_view source_of(const PredictionsView& view, const Prediction& prediction) {
  return prediction.drawn ? kDrawnSource : std::string_view(view.cameras[prediction.camera]);
}

Json json_of(const PredictionsView& view, const Prediction& prediction, const ModelFacts& model) {
  return to_json(prediction, model, view.cameras[prediction.camera]);
}

}  // namespace

Reply get_latest_prediction(const PredictionsView& view, const Call& call) {
  const auto source = call.query_value("source");
  const std::vector<Prediction> latest = view.latest.list(
      1, [&](const Prediction& prediction) { return !source || source_of(view, prediction) == *source; });
  const auto model = latest.empty() ? nullptr : view.models.find(latest.front().model);
  if (!model) return {.status = 204, .headers = {{"Cache-Control", "no-store"}}};
  return json_reply(json_of(view, latest.front(), *model).dump(), "no-store");
}

// Newest first, from those kept in memory.
Reply get_predictions(const PredictionsView& view, const Call& call) {
  const auto query = read_newest_query(call);
  if (!query) return query.error();
  const std::vector<Prediction> found = view.latest.list(query->limit + 1, [&](const Prediction& prediction) {
    return query->wants(prediction.seq, prediction.answer.outcome, source_of(view, prediction));
  });
  return newest_reply(call, *query, std::span(found), &Prediction::seq, [&](const Prediction& prediction) {
    // Those of a model of long ago mean nothing any more.
    const auto model = view.models.find(prediction.model);
    return model ? std::optional(json_of(view, prediction, *model)) : std::nullopt;
  });
}

Reply get_prediction(const PredictionsView& view, const Call& call) {
  const std::string_view id = call.path_parameter("id");
  const std::vector<Prediction> found = view.latest.list(
      1, [&](const Prediction& prediction) { return id.starts_with("prd_") && id.substr(4) == prediction.id.view(); });
  const auto model = found.empty() ? nullptr : view.models.find(found.front().model);
  if (model) return json_reply(json_of(view, found.front(), *model).dump());
  const Result<std::optional<std::string>> kept = view.store.prediction(id);
  if (!kept) return store_problem(kept.error());
  if (*kept) return json_reply(**kept);
  return problem("not-found", "there is no such prediction in memory, and no visit rests on one of this id",
                 "GET /api/v1/predictions lists the newest");
}

}  // namespace kinglet::daemon::http
