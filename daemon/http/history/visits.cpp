// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/visits and /visits/{id}: what was here, whoever keeps it.
#include "daemon/http/history/cursor.h"
#include "daemon/http/history/history.h"
#include "daemon/http/message/parameters.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/tell/visit_json.h"
#include "engine/base/format.h"
#include "store/store.h"
#include "visits/json.h"

namespace kinglet::daemon::http {
namespace {

using visits::BookedVisit;
using visits::VisitQuery;

}  // namespace

std::expected<VisitQuery, Reply> read_visit_query(const Call& call) {
  VisitQuery query;
  const auto limit = integer_parameter(call, "limit", 50, 1, 500);
  if (!limit) return std::unexpected(limit.error());
  query.limit = static_cast<std::size_t>(*limit);
  const auto since = time_parameter(call, "since");
  if (!since) return std::unexpected(since.error());
  query.since = *since;
  const auto until = time_parameter(call, "until");
  if (!until) return std::unexpected(until.error());
  query.until = *until;
  const auto min_score = ratio_parameter(call, "min_score", 0);
  if (!min_score) return std::unexpected(min_score.error());
  query.min_score = *min_score;
  const auto order = word_parameter(call, "order", {"desc", "asc"});
  if (!order) return std::unexpected(order.error());
  query.descending = *order == 0;
  if (call.query_value("review")) {
    const auto review =
        word_parameter(call, "review", {"none", "confirmed", "corrected", "not_a_bird", "unknown", "unreviewed"});
    if (!review) return std::unexpected(review.error());
    query.review = *review == 5 ? visits::Verdict::kNone : static_cast<visits::Verdict>(*review);
  }
  for (const auto& [name, value] : call.query) {
    if (name == "species") query.species.push_back(value);
  }
  query.source = call.query_value("source").value_or("");
  if (const auto cursor = call.query_value("cursor")) {
    query.after_seq = seq_of_cursor(*cursor, filter_hash(call));
    if (!query.after_seq) {
      return std::unexpected(
          problem("bad-cursor", "the cursor is not one of a list with these filters", "leave it out to begin anew"));
    }
  }
  return query;
}

std::string visit_tag(const BookedVisit& booked) { return format_text("\"{}\"", booked.change); }

Reply visit_reply(const BookedVisit& booked) {
  Reply reply = json_reply(visit_json(booked).dump());
  reply.headers.emplace_back("ETag", visit_tag(booked));
  return reply;
}

Reply no_such_visit() {
  return problem("not-found", "there is no visit with this id", "GET /api/v1/visits lists them");
}

Reply get_visits(const HistoryView& view, const Call& call) {
  const std::expected<VisitQuery, Reply> query = read_visit_query(call);
  if (!query) return query.error();
  const std::string tag = list_tag(view);
  if (std::optional<Reply> same = not_modified(call, tag)) return *same;
  const Result<visits::VisitPage> page = view.visits.list(*query);
  if (!page) return store_problem(page.error());
  Json items = Json::array();
  for (const BookedVisit& booked : page->items) items.push_back(visit_json(booked));
  Json json{{"items", std::move(items)}};
  std::string link;
  if (page->has_more) {
    const std::string cursor = make_cursor(page->items.back().visit.seq, filter_hash(call));
    json["next_cursor"] = cursor;
    link = next_link(call, cursor);
  }
  json["has_more"] = page->has_more;
  Reply reply = json_reply(json.dump());
  reply.headers.emplace_back("ETag", tag);
  if (!link.empty()) reply.headers.emplace_back("Link", std::move(link));
  return reply;
}

Reply get_visit(const HistoryView& view, const Call& call) {
  const Result<std::optional<BookedVisit>> found = view.visits.find(call.path_parameter("id"));
  if (!found) return store_problem(found.error());
  if (!*found) return no_such_visit();
  if (std::optional<Reply> same = not_modified(call, visit_tag(**found))) return *same;
  return visit_reply(**found);
}

}  // namespace kinglet::daemon::http
