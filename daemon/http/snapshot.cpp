// SPDX-License-Identifier: Apache-2.0
// Why: GET /snapshot.jpg: the newest frame.
#include "daemon/snapshot.h"
#include "engine/base/format.h"

#include "daemon/http/json.h"
#include "daemon/http/parameters.h"
#include "daemon/http/problem.h"
#include "daemon/http/routes.h"

namespace kinglet::daemon::http {

Reply get_snapshot(const Context& context, const Call& call) {
  const std::expected<std::int64_t, Reply> width = integer_parameter(call, "width", 0, {320, 640, 1280});
  if (!width) return width.error();
  const Result<std::shared_ptr<const Snapshot>> snapshot = context.snapshots.get(static_cast<int>(*width));
  if (!snapshot) {
    const CameraStatus camera = context.vitals().camera;
    return problem(
        "no-camera", snapshot.error().message,
        format_text("camera: {}{}{}", to_string(camera.state), camera.detail.empty() ? "" : ": ", camera.detail));
  }
  const std::vector<std::byte>& jpeg = (*snapshot)->jpeg;
  const camera::FrameInfo& info = (*snapshot)->info;
  return {.content_type = "image/jpeg",
          .body = std::string(reinterpret_cast<const char*>(jpeg.data()), jpeg.size()),
          .headers = {{"Cache-Control", "no-store"},
                      {"X-Timestamp", to_rfc3339(info.captured_wall)},
                      {"X-Frame-Seq", std::to_string(info.sequence)},
                      {"X-Frame-Age-Ms", format_text("{:.0f}", to_ms(SteadyClock::now() - info.captured_at).count())}}};
}

}  // namespace kinglet::daemon::http
