// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/message/problem.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/base/check.h"
#include "engine/base/text.h"

namespace kinglet::daemon::http {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostText = 1000;

constexpr std::array kProblems{
#define KINGLET_PROBLEM(slug, status, title, explanation) ProblemKind{slug, status, title, explanation},
#include "daemon/http/message/problems.def"
#undef KINGLET_PROBLEM
};

Json fault_json(const Problem::Fault& fault) {
  Json json = Json::object();
  if (!fault.key.empty()) json["key"] = fault.key;
  json["detail"] = fault.detail;
  if (!fault.hint.empty()) json["hint"] = fault.hint;
  if (!fault.where.empty()) json["where"] = fault.where;
  return json;
}

}  // namespace

std::span<const ProblemKind> problem_table() { return kProblems; }

const ProblemKind* find_problem(std::string_view slug) {
  const auto row = std::ranges::find(kProblems, slug, &ProblemKind::slug);
  return row == kProblems.end() ? nullptr : &*row;
}

Reply problem(std::string_view slug, std::string_view detail, std::string_view hint) {
  const ProblemKind* kind = find_problem(slug);
  KINGLET_CHECK(kind != nullptr);
  Reply reply{
      .status = kind->status,
      .content_type = "application/problem+json",
      .headers = {{"Cache-Control", "no-store"}},
      .problem = {.slug = std::string(slug), .detail = std::string(detail), .hint = std::string(hint), .faults = {}}};
  if (kind->status == 503 || kind->status == 429) {
    const bool soon = slug == "busy" || slug == "too-many-requests";
    reply.headers.emplace_back("Retry-After", soon ? "1" : slug == "too-many-streams" ? "10" : "2");
  }
  return reply;
}

Reply desk_problem(const Error& error, bool late) {
  if (late) return problem("timeout", error.message);
  if (error.code == ErrorCode::kBusy) return problem("busy", error.message);
  if (error.code == ErrorCode::kUnavailable) return problem("starting", error.message);
  return problem("internal-error", describe(error));
}

Json problem_json(const Problem& problem) {
  const ProblemKind* kind = find_problem(problem.slug);
  KINGLET_CHECK(kind != nullptr);
  Json json{{"type", "/problems/" + problem.slug},
            {"title", kind->title},
            {"status", kind->status},
            {"detail", printable(problem.detail, kMostText)}};
  if (!problem.hint.empty()) json["hint"] = printable(problem.hint, kMostText);
  for (const Problem::Fault& fault : problem.faults) json["errors"].push_back(fault_json(fault));
  return json;
}

void complete_problem(Reply& reply, std::string_view path, std::string_view request_id) {
  if (reply.problem.slug.empty()) return;
  Json json = problem_json(reply.problem);
  if (path == "/v2" || path.starts_with("/v2/")) {
    std::string text = json["detail"];
    if (json.contains("hint")) text += "; " + json["hint"].get<std::string>();
    json = {{"error", text}};
    reply.content_type = "application/json";
  } else {
    json["instance"] = printable(path, kMostText);
    json["request_id"] = request_id;
  }
  reply.body = json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kinglet::daemon::http
