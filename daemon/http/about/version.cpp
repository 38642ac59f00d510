// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/version.
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/line/stats.h"
#include "daemon/machine/build_info.h"
#include "daemon/machine/update.h"

namespace kinglet::daemon::http {

Reply get_version(const VersionView& view, const Call& /*call*/) {
  const BuildInfo& info = build_info();
  Json build{{"compiler", info.compiler}};
  if (!info.xnnpack.empty()) build["xnnpack"] = info.xnnpack;
  if (!info.libcamera.empty()) build["libcamera"] = info.libcamera;
  Json json{{"name", "kinglet"}, {"version", info.version}};
  if (!info.commit.empty()) json["commit"] = info.commit;
  json["api"] = "v1";
  json["build"] = build;
  if (const std::optional<Update> update = view.update()) {
    json["update"] = {{"installed", update->installed}, {"available", update->available}};
  }
  json["uptime_seconds"] = rounded(Seconds(view.stats.view(SteadyClock::now()).uptime).count(), 3);
  return json_reply(json.dump());
}

}  // namespace kinglet::daemon::http
