// SPDX-License-Identifier: Apache-2.0
// Why: /livez (restart me?) and /readyz (send me traffic?), also as /healthz.
#include "daemon/doctor/health.h"

#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"

namespace kinglet::daemon::http {
namespace {

Reply health_reply(const std::vector<Check>& checks) {
  const CheckStatus status = worst(checks);
  Json json{{"status", to_string(status)}, {"checks", Json::object()}};
  for (const Check& check : checks) {
    Json item{{"status", to_string(check.status)}};
    if (check.since != WallTime{}) item["since"] = to_rfc3339(check.since);
    if (!check.detail.empty()) item["detail"] = check.detail;
    json["checks"][check.name] = item;
  }
  Reply reply = json_reply(json.dump(), "no-store");
  if (status == CheckStatus::kFail) {
    reply.status = 503;
    reply.headers.emplace_back("Retry-After", "2");
  }
  return reply;
}

}  // namespace

Reply get_livez(const HealthView& view, const Call& /*call*/) { return health_reply(liveness(view.vitals())); }
Reply get_readyz(const HealthView& view, const Call& /*call*/) { return health_reply(readiness(view.vitals())); }

}  // namespace kinglet::daemon::http
