// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/message/problem.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/base/check.h"
#include "engine/base/text.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::array kProblems{
#define KINGLET_PROBLEM(slug, status, title, explanation) ProblemKind{slug, status, title, explanation},
#include "daemon/http/message/problems.def"
#undef KINGLET_PROBLEM
};

}  // namespace

std::span<const ProblemKind> problem_table() { return kProblems; }

const ProblemKind* find_problem(std::string_view slug) {
  const auto row = std::ranges::find(kProblems, slug, &ProblemKind::slug);
  return row == kProblems.end() ? nullptr : &*row;
}

Reply problem(std::string_view slug, std::string_view detail, std::string_view hint) {
  const ProblemKind* kind = find_problem(slug);
  KINGLET_CHECK(kind != nullptr);
  nlohmann::ordered_json body{{"type", "/problems/" + std::string(slug)},
                              {"title", kind->title},
                              {"status", kind->status},
                              {"detail", printable(detail, 1000)}};
  if (!hint.empty()) body["hint"] = printable(hint, 1000);
  Reply reply{.status = kind->status,
              .content_type = "application/problem+json",
              .body = body.dump(),
              .headers = {{"Cache-Control", "no-store"}},
              .problem = std::string(slug)};
  if (kind->status == 503 || kind->status == 429) {
    const bool soon = slug == "busy" || slug == "too-many-requests";
    reply.headers.emplace_back("Retry-After", soon ? "1" : slug == "too-many-streams" ? "10" : "2");
  }
  return reply;
}

void complete_problem(Reply& reply, std::string_view path, std::string_view request_id) {
  if (reply.problem.empty()) return;
  auto body = nlohmann::ordered_json::parse(reply.body);
  if (path == "/v2" || path.starts_with("/v2/")) {
    std::string text = body["detail"];
    if (body.contains("hint")) text += "; " + body["hint"].get<std::string>();
    reply.body = nlohmann::ordered_json{{"error", text}}.dump();
    reply.content_type = "application/json";
    return;
  }
  body["instance"] = printable(path, 1000);
  body["request_id"] = request_id;
  reply.body = body.dump();
}

}  // namespace kinglet::daemon::http
