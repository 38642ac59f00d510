// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/predictions and /predictions/{id}: reads what the pipeline published, never the pipeline; those that
// a visit rests on are in the history as well.
#include <algorithm>

#include "daemon/answer/latest.h"
#include "daemon/http/history/cursor.h"
#include "daemon/http/history/history.h"
#include "daemon/http/message/parameters.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/models/model_board.h"
#include "store/store.h"

namespace kinglet::daemon::http {

Reply get_latest_prediction(const PredictionsView& view, const Call& /*call*/) {
  const std::optional<Prediction> latest = view.latest.get();
  const auto model = latest ? view.models.find(latest->model) : nullptr;
  if (!model) return {.status = 204, .headers = {{"Cache-Control", "no-store"}}};
  return json_reply(to_json(*latest, *model, view.source_name).dump(), "no-store");
}

// Newest first, from those kept in memory.
Reply get_predictions(const PredictionsView& view, const Call& call) {
  const auto limit = integer_parameter(call, "limit", 50, 1, 500);
  if (!limit) return limit.error();
  const auto outcome = outcome_parameter(call);
  if (!outcome) return outcome.error();
  const std::uint64_t filters = filter_hash(call);
  std::optional<std::uint64_t> before;
  if (const auto cursor = call.query_value("cursor")) {
    before = seq_of_cursor(*cursor, filters);
    if (!before) return bad_cursor();
  }
  const auto wanted = static_cast<std::size_t>(*limit);
  std::vector<Prediction> found = view.latest.list(wanted + 1, [&](const Prediction& prediction) {
    return (!before || prediction.seq < *before) && (!*outcome || prediction.answer.outcome == **outcome);
  });
  const bool has_more = found.size() > wanted;
  found.resize(std::min(found.size(), wanted));
  Json items = Json::array();
  for (const Prediction& prediction : found) {
    // Those of a model of long ago mean nothing any more.
    const auto model = view.models.find(prediction.model);
    if (model) items.push_back(to_json(prediction, *model, view.source_name));
  }
  Json json{{"items", std::move(items)}};
  if (has_more) json["next_cursor"] = make_cursor(found.back().seq, filters);
  json["has_more"] = has_more;
  Reply reply = json_reply(json.dump(), "no-store");
  if (has_more) reply.headers.emplace_back("Link", next_link(call, make_cursor(found.back().seq, filters)));
  return reply;
}

Reply get_prediction(const PredictionsView& view, const Call& call) {
  const std::string_view id = call.path_parameter("id");
  const std::vector<Prediction> found = view.latest.list(
      1, [&](const Prediction& prediction) { return id.starts_with("prd_") && id.substr(4) == prediction.id.view(); });
  const auto model = found.empty() ? nullptr : view.models.find(found.front().model);
  if (model) return json_reply(to_json(found.front(), *model, view.source_name).dump());
  const Result<std::optional<std::string>> kept = view.store.prediction(id);
  if (!kept) return store_problem(kept.error());
  if (*kept) return json_reply(**kept);
  return problem("not-found", "there is no such prediction in memory, and no visit rests on one of this id",
                 "GET /api/v1/predictions lists the newest");
}

}  // namespace kinglet::daemon::http
