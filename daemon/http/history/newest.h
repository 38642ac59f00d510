// SPDX-License-Identifier: Apache-2.0
// Why: lists of what is kept in memory only (predictions, tracks) are read in the same pages, newest first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/http/history/cursor.h"
#include "daemon/http/message/message.h"
#include "daemon/http/routes/json.h"
#include "visits/decide.h"

namespace kinglet::daemon::http {

struct NewestQuery {
  std::size_t limit = 0;
  std::optional<std::uint64_t> before;     // the number of the last one of the page before
  std::optional<visits::Outcome> outcome;  // nothing: all
  std::optional<std::string> source;       // nothing: all

  [[nodiscard]] bool wants(std::uint64_t seq, visits::Outcome of, std::string_view from) const {
    return (!before || seq < *before) && (!outcome || of == *outcome) && (!source || from == *source);
  }
};
// Of the parameters limit, cursor, outcome and source.
[[nodiscard]] std::expected<NewestQuery, Reply> read_newest_query(const Call& call);
[[nodiscard]] Reply newest_reply(const Call& call, Json items, std::optional<std::uint64_t> next);

// `found`: at most one more than the limit. `json_of` may leave one out.
template <typename T>
[[nodiscard]] Reply newest_reply(const Call& call, const NewestQuery& query, std::span<const T> found, auto seq_of,
                                 auto json_of) {
  const bool has_more = found.size() > query.limit;
  const std::span<const T> page = found.first(std::min(found.size(), query.limit));
  Json items = Json::array();
  for (const T& one : page) {
    if (std::optional<Json> json = json_of(one)) items.push_back(*std::move(json));
  }
  return newest_reply(call, std::move(items),
                      has_more ? std::optional<std::uint64_t>(std::invoke(seq_of, page.back())) : std::nullopt);
}

}  // namespace kinglet::daemon::http
