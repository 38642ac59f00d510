// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/check.h"
#include "tests/fuzz/daemon_parts.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {
namespace {

using namespace daemon::http;

void check_reply(Reply reply, const Call& call) {
  KINGLET_CHECK(reply.status >= 200 && reply.status < 600 && reply.status != 500);
  complete_problem(reply, call.path, call.request_id);
  for (const auto& [name, value] : reply.headers) {
    KINGLET_CHECK(value.find('\n') == std::string::npos && value.find('\r') == std::string::npos);
  }
  if (!reply.content_type.ends_with("json") || reply.body.empty()) return;
  const auto json = nlohmann::json::parse(reply.body, nullptr, false);
  KINGLET_CHECK(!json.is_discarded());
  if (!reply.problem.slug.empty() && json.contains("status")) KINGLET_CHECK(json["status"] == reply.status);
}

}  // namespace

// The first byte chooses the route, the rest is its body. The visit that is reviewed is there.
void body(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const DaemonParts& daemon = DaemonParts::instance();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto ask = [&](const char* method, const std::string& path, const char* type) {
    Call call = daemon.call(method, path);
    call.content_type = type;
    call.if_match = "*";
    call.body = text.substr(1);
    const Found found = find_route(call);
    KINGLET_CHECK(found.route != nullptr);
    check_reply(run_handler(*found.route, daemon.views(), call, {}), call);
  };
  switch (static_cast<unsigned char>(text[0]) % 6) {
    case 0:
      return ask("PATCH", "/api/v1/visits/" + daemon.visit_id(), "application/merge-patch+json");
    case 1:
      return ask("PATCH", "/api/v1/visits/" + daemon.visit_id(), "application/json");
    case 2:
      return ask("POST", "/api/v1/session", "application/json");
    case 3:
      return ask("POST", "/api/v1/classify", "application/json");
    case 4:
      return ask("POST", "/api/v1/invitations", "application/json");
    default:
      return ask("POST", "/v2/models/kinglet-demo/infer", "application/json");
  }
}

}  // namespace kinglet::fuzz
