// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/stats/history: how much was looked at and how long answers took, over weeks.
#include "daemon/http/history/history.h"
#include "daemon/http/message/parameters.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "store/store.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::int64_t kMostSpans = 2000;
constexpr std::int64_t kADay = 288;

Json span_json(const store::Throughput& span) {
  const double seconds = Seconds(span.span).count();
  Json json{{"at", to_rfc3339(span.at)},
            {"clock_synced", span.clock_synced},
            {"span_seconds", rounded(seconds, 3)},
            {"frames", span.frames},
            {"images", span.images},
            {"accepted", span.accepted}};
  if (seconds > 0) json["images_per_second"] = rounded(static_cast<double>(span.images) / seconds, 3);
  if (span.images > 0) {
    json["latency_ms"] = {{"p50", rounded(span.latency_p50_ms, 3)}, {"p99", rounded(span.latency_p99_ms, 3)}};
  }
  return json;
}

}  // namespace

Reply get_stats_history(const HistoryView& view, const Call& call) {
  const auto since = time_parameter(call, "since");
  if (!since) return since.error();
  const auto until = time_parameter(call, "until");
  if (!until) return until.error();
  const auto limit = integer_parameter(call, "limit", kADay, 1, kMostSpans);
  if (!limit) return limit.error();
  const auto page = view.store.throughput(since->value_or(WallTime::min()), until->value_or(WallTime::max()),
                                          static_cast<std::size_t>(*limit));
  if (!page) return store_problem(page.error());
  Json items = Json::array();
  for (const store::Throughput& span : page->items) items.push_back(span_json(span));
  return json_reply(Json{{"items", std::move(items)}, {"has_more", page->has_more}}.dump());
}

}  // namespace kinglet::daemon::http
