// SPDX-License-Identifier: Apache-2.0
// Why: POST /api/v1/control/pause and /resume: the camera goes on, nothing is looked at meanwhile. No restart keeps it.
// And /restart, which settings that wait for it need.
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

void tell(const ControlView& view, const Call& call, std::string_view what) {
  if (!view.log) return;
  view.log(LogLevel::kInfo,
           format_text("{} by {}", what,
                       call.caller.token_name.empty() ? call.caller.address : "\"" + call.caller.token_name + "\""));
}

Reply set_paused(const ControlView& view, const Call& call, bool paused) {
  view.set_paused(paused);
  tell(view, call, paused ? "paused" : "resumed");
  return json_reply(Json{{"paused", paused}}.dump(), "no-store");
}

}  // namespace

Reply post_pause(const ControlView& view, const Call& call) { return set_paused(view, call, true); }
Reply post_resume(const ControlView& view, const Call& call) { return set_paused(view, call, false); }

Reply post_restart(const ControlView& view, const Call& call) {
  if (!view.restart()) {
    return problem("no-service-manager", "nobody would start the daemon again: it was not started as a service",
                   "end it and start it where it was started");
  }
  tell(view, call, "restart wished");
  Reply reply = json_reply(Json{{"restarting", true}}.dump(), "no-store");
  reply.status = 202;
  return reply;
}

}  // namespace kinglet::daemon::http
