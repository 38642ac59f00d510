// SPDX-License-Identifier: Apache-2.0
// Why: the one table of what the API answers, and the way from a request to its row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/message/message.h"
#include "daemon/http/routes/views.h"
#include "daemon/tokens/role.h"

namespace kinglet::daemon::http {

struct Route {
  std::string_view method;
  std::string_view path;                                   // pattern
  Reply (*handler)(const Views& views, const Call& call);  // with its own view of them
  Role role;
  std::string_view query;  // "top_k,crop"
  std::string_view summary;
};

[[nodiscard]] std::span<const Route> route_table();

// Does `path`, of path_of(), match the pattern? Fills the values of its {names}.
[[nodiscard]] bool match_path(std::string_view pattern, std::string_view path,
                              std::vector<std::pair<std::string, std::string>>& parameters);

// The row for the call, with its path parameters filled in; or the answer that says why there is none: 404, 405 with
// Allow, the answer to OPTIONS, 400 for an unknown parameter. HEAD finds the row of GET.
struct Found {
  const Route* route = nullptr;
  Reply refusal;             // when route is nullptr
  std::string_view pattern;  // of the path, also for 405; empty for 404
};
[[nodiscard]] Found find_route(Call& call);

// Most bytes of the body that this route takes as it comes (uploads.def); nothing: it is read first, as a whole.
[[nodiscard]] std::optional<std::uint64_t> upload_limit(std::string_view method, std::string_view path);

// Runs the handler. An own bug or a library's exception becomes 500 `internal-error` and a line in the log.
[[nodiscard]] Reply run_handler(const Route& route, const Views& views, const Call& call, const LogSink& log);

// One declaration a row.
#define KINGLET_ROUTE(method, path, handler, view, role, query, summary) \
  Reply handler(const view& of_subject, const Call& call);
#include "daemon/http/routes/routes.def"
#undef KINGLET_ROUTE

}  // namespace kinglet::daemon::http
