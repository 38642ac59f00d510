// SPDX-License-Identifier: Apache-2.0
// Why: every error answer has one form (RFC 9457) and one table of kinds, problems.def.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "daemon/http/message/message.h"
#include "engine/base/error.h"

namespace kinglet::daemon::http {

struct ProblemKind {
  std::string_view slug;
  int status;
  std::string_view title;
  std::string_view explanation;
};

[[nodiscard]] std::span<const ProblemKind> problem_table();
// nullptr when there is no such kind.
[[nodiscard]] const ProblemKind* find_problem(std::string_view slug);

// `slug` must be a row of the table. detail and hint may hold bytes of the request: they are made printable with the
// words.
[[nodiscard]] Reply problem(std::string_view slug, std::string_view detail, std::string_view hint = {});

// Of the desk of posted pictures, one rule for all routes that post there; `late`: the picture was not taken in time.
[[nodiscard]] Reply desk_problem(const Error& error, bool late = false);

// The problem without what only the dispatcher knows, for who tells it as a part of another answer.
[[nodiscard]] nlohmann::ordered_json problem_json(const Problem& problem);

// The body of a problem, with what only the dispatcher knows: "instance" and "request_id". Below /v2 it takes the form
// of that protocol, {"error": "..."}.
void complete_problem(Reply& reply, std::string_view path, std::string_view request_id);

}  // namespace kinglet::daemon::http
