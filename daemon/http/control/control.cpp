// SPDX-License-Identifier: Apache-2.0
// Why: POST /api/v1/control/pause and /resume: the camera goes on, nothing is looked at meanwhile. No restart keeps it.
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

Reply set_paused(const ControlView& view, const Call& call, bool paused) {
  view.set_paused(paused);
  if (view.log) {
    view.log(LogLevel::kInfo,
             format_text("{} by {}", paused ? "paused" : "resumed",
                         call.caller.token_name.empty() ? call.caller.address : "\"" + call.caller.token_name + "\""));
  }
  return json_reply(Json{{"paused", paused}}.dump(), "no-store");
}

}  // namespace

Reply post_pause(const ControlView& view, const Call& call) { return set_paused(view, call, true); }
Reply post_resume(const ControlView& view, const Call& call) { return set_paused(view, call, false); }

}  // namespace kinglet::daemon::http
