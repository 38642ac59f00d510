// SPDX-License-Identifier: Apache-2.0
// Why: what the routes of the history have in common.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "daemon/http/message/message.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/views.h"
#include "visits/book.h"

namespace kinglet::daemon::http {

// 507 `storage-full` when the disk refuses, else 503 `starting`.
[[nodiscard]] Reply store_problem(const Error& error);

// One visit with its strong ETag.
[[nodiscard]] std::string visit_tag(const visits::BookedVisit& booked);
[[nodiscard]] Reply visit_reply(const visits::BookedVisit& booked);
[[nodiscard]] Reply no_such_visit();

// The weak ETag of everything that comes from the history, and 304 when the caller has it.
[[nodiscard]] std::string list_tag(const HistoryView& view);
[[nodiscard]] std::optional<Reply> not_modified(const Call& call, const std::string& tag);

// What a person says in a JSON merge patch (RFC 7396) of this review, checked.
[[nodiscard]] std::expected<visits::Review, Reply> read_review(const HistoryView& view, const Call& call,
                                                               const visits::Review& review);

// The filters and the order of a list of visits; its first page of them.
[[nodiscard]] std::expected<visits::VisitQuery, Reply> read_visit_query(const Call& call);

// "scientific_name" and "common_name", as far as the loaded model, its owner or the program's table of birds knows
// them.
void add_names(Json& json, const HistoryView& view, std::string_view species_id);

}  // namespace kinglet::daemon::http
