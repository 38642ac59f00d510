// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/routes/routes.h"

#include <algorithm>
#include <array>
#include <exception>
#include <ranges>

#include "daemon/http/message/path.h"
#include "daemon/http/message/problem.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::array kRoutes{
#define KINGLET_ROUTE(method, path, handler, view, role, query, summary) \
  Route{method,     path,  [](const Views& views, const Call& call) { return handler(std::get<view>(views), call); }, \
        Role::role, query, summary},
#include "daemon/http/routes/routes.def"
#undef KINGLET_ROUTE
};

struct Upload {
  std::string_view method;
  std::string_view path;
  std::uint64_t most_bytes;
};
constexpr std::array kUploads{
#define KINGLET_UPLOAD(method, path, most_bytes) Upload{method, path, most_bytes},
#include "daemon/http/routes/uploads.def"
#undef KINGLET_UPLOAD
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  if (text.empty()) return parts;
  for (const auto part : std::views::split(text, separator)) parts.emplace_back(part.begin(), part.end());
  return parts;
}

// "GET, HEAD, OPTIONS" for all rows of one pattern.
std::string allowed_methods(std::string_view pattern) {
  std::string allow;
  for (const Route& route : kRoutes) {
    if (route.path != pattern) continue;
    allow += std::string(route.method) + ", ";
    if (route.method == "GET") allow += "HEAD, ";
  }
  return allow + "OPTIONS";
}

std::optional<Reply> refuse_unknown_query(const Route& route, const Call& call) {
  const std::vector<std::string_view> known = split(route.query, ',');
  for (const auto& [name, value] : call.query) {
    if (std::ranges::find(known, std::string_view(name)) != known.end()) continue;
    const std::string_view near = nearest_name(name, known);
    std::string hint = "this route takes no parameters";
    if (!near.empty()) {
      hint = format_text("did you mean \"{}\"?", near);
    } else if (!known.empty()) {
      hint = format_text("known here: {}", route.query);
    }
    return problem("unknown-parameter",
                   format_text("\"{}\" is not a parameter of {}", printable(name, 100), route.path), hint);
  }
  return std::nullopt;
}

}  // namespace

std::span<const Route> route_table() { return kRoutes; }

bool match_path(std::string_view pattern, std::string_view path,
                std::vector<std::pair<std::string, std::string>>& parameters) {
  // Every request goes through many rows: nothing is allocated for those that it is not.
  std::vector<std::pair<std::string, std::string>> values;
  for (;;) {
    const std::size_t wanted_end = pattern.find('/');
    const std::size_t given_end = path.find('/');
    const std::string_view wanted = pattern.substr(0, wanted_end);
    const std::string_view given = path.substr(0, given_end);
    if (wanted.starts_with('{')) {
      if (given.empty()) return false;
      values.emplace_back(wanted.substr(1, wanted.size() - 2), segment_text(given));
    } else if (wanted != given) {
      return false;
    }
    const bool last = wanted_end == std::string_view::npos;
    if (last != (given_end == std::string_view::npos)) return false;
    if (last) break;
    pattern.remove_prefix(wanted_end + 1);
    path.remove_prefix(given_end + 1);
  }
  parameters = std::move(values);
  return true;
}

Found find_route(Call& call) {
  Found found;
  const std::string_view method = call.method == "HEAD" ? "GET" : std::string_view(call.method);
  // What stands in the table as it is is no name of something.
  const bool literal = std::ranges::contains(kRoutes, std::string_view(call.path), &Route::path);
  for (const Route& route : kRoutes) {
    if (literal && route.path != call.path) continue;
    if (!match_path(route.path, call.path, call.path_parameters)) continue;
    found.pattern = route.path;
    if (route.method != method) continue;
    if (std::optional<Reply> refusal = refuse_unknown_query(route, call)) {
      found.refusal = std::move(*refusal);
    } else {
      found.route = &route;
    }
    return found;
  }
  if (found.pattern.empty()) {
    found.refusal = problem("not-found", "there is nothing at this path", "GET /api/v1/openapi.json lists all paths");
    return found;
  }
  const std::string allow = allowed_methods(found.pattern);
  if (method == "OPTIONS") {
    found.refusal = Reply{.status = 204};
  } else {
    found.refusal = problem("method-not-allowed",
                            format_text("{} is not allowed here; allowed: {}", printable(call.method, 20), allow));
  }
  found.refusal.headers.emplace_back("Allow", allow);
  return found;
}

std::optional<std::uint64_t> upload_limit(std::string_view method, std::string_view path) {
  std::vector<std::pair<std::string, std::string>> ignored;
  for (const Upload& upload : kUploads) {
    if (upload.method == method && match_path(upload.path, path, ignored)) return upload.most_bytes;
  }
  return std::nullopt;
}

Reply run_handler(const Route& route, const Views& views, const Call& call, const LogSink& log) {
  try {
    return route.handler(views, call);
  } catch (const std::exception& error) {
    if (log) log(LogLevel::kError, format_text("{} {}: {}", route.method, route.path, printable(error.what(), 300)));
    return problem("internal-error", "the request could not be answered", "please report it with the request id");
  }
}

}  // namespace kinglet::daemon::http
