// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/history/newest.h"

#include "daemon/http/message/parameters.h"

namespace kinglet::daemon::http {
namespace {

std::expected<std::optional<visits::Outcome>, Reply> outcome_parameter(const Call& call) {
  if (!call.query_value("outcome")) return std::nullopt;
  const auto word = word_parameter(
      call, "outcome",
      {"accepted", "below_threshold", "background", "ambiguous", "not_allowed", "blocked", "non_finite"});
  if (!word) return std::unexpected(word.error());
  return static_cast<visits::Outcome>(*word);
}

}  // namespace

std::expected<NewestQuery, Reply> read_newest_query(const Call& call) {
  const auto limit = integer_parameter(call, "limit", 50, 1, 500);
  if (!limit) return std::unexpected(limit.error());
  const auto outcome = outcome_parameter(call);
  if (!outcome) return std::unexpected(outcome.error());
  NewestQuery query{.limit = static_cast<std::size_t>(*limit), .before = {}, .outcome = *outcome, .source = {}};
  if (const auto source = call.query_value("source")) query.source = std::string(*source);
  if (const auto cursor = call.query_value("cursor")) {
    query.before = seq_of_cursor(*cursor, filter_hash(call));
    if (!query.before) return std::unexpected(bad_cursor());
  }
  return query;
}

Reply newest_reply(const Call& call, Json items, std::optional<std::uint64_t> next) {
  Json json{{"items", std::move(items)}};
  const std::string cursor = next ? make_cursor(*next, filter_hash(call)) : std::string();
  if (next) json["next_cursor"] = cursor;
  json["has_more"] = next.has_value();
  Reply reply = json_reply(json.dump(), "no-store");
  if (next) reply.headers.emplace_back("Link", next_link(call, cursor));
  return reply;
}

}  // namespace kinglet::daemon::http
