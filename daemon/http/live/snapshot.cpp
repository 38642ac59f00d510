// SPDX-License-Identifier: Apache-2.0
// Why: GET /snapshot.jpg: the newest frame.
#include "daemon/capture/snapshot.h"

#include <ranges>

#include "daemon/answer/latest.h"
#include "daemon/doctor/health.h"
#include "daemon/http/live/stats.h"
#include "daemon/http/message/parameters.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {

std::vector<Mark> newest_marks(const LatestPredictions& latest, std::size_t camera) {
  constexpr std::chrono::seconds kNews{3};
  const std::vector<Prediction> newest =
      latest.list(1, [&](const Prediction& prediction) { return prediction.camera == camera; });
  std::vector<Mark> marks;
  if (newest.empty() || std::chrono::system_clock::now() - newest.front().at > kNews) return marks;
  // The best one last, so that no other lies over it.
  for (const RegionLook& look : std::views::reverse(newest.front().looks())) {
    marks.push_back({.where = look.crop, .accepted = look.outcome == Outcome::kAccepted});
  }
  return marks;
}

Reply get_snapshot(const CamerasView& view, const Call& call) {
  const auto index = camera_of(view, call);
  if (!index) return index.error();
  const std::expected<std::int64_t, Reply> width = integer_parameter(call, "width", 0, {320, 640, 1280});
  if (!width) return width.error();
  const auto overlay = integer_parameter(call, "overlay", 0, {0, 1});
  if (!overlay) return overlay.error();
  const auto marks = *overlay == 1 ? newest_marks(view.latest, *index) : std::vector<Mark>();
  const Result<std::shared_ptr<const Snapshot>> snapshot =
      view.cameras[*index].snapshots.get(static_cast<int>(*width), {}, marks);
  if (!snapshot) {
    const CameraStatus camera = view.vitals().cameras[*index].status;
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
