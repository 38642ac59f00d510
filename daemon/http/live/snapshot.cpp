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

std::vector<Mark> newest_marks(const Latest<Prediction>& latest) {
  constexpr std::chrono::seconds kNews{3};
  const std::optional<Prediction> newest = latest.get();
  std::vector<Mark> marks;
  if (!newest || std::chrono::system_clock::now() - newest->at > kNews) return marks;
  // The best one last, so that no other lies over it.
  for (const RegionLook& look : std::views::reverse(newest->looks())) {
    marks.push_back({.where = look.crop, .accepted = look.outcome == Outcome::kAccepted});
  }
  return marks;
}

Reply get_snapshot(const PicturesView& view, const Call& call) {
  const std::expected<std::int64_t, Reply> width = integer_parameter(call, "width", 0, {320, 640, 1280});
  if (!width) return width.error();
  const auto overlay = integer_parameter(call, "overlay", 0, {0, 1});
  if (!overlay) return overlay.error();
  const Result<std::shared_ptr<const Snapshot>> snapshot =
      view.snapshots.get(static_cast<int>(*width), {}, *overlay == 1 ? newest_marks(view.latest) : std::vector<Mark>());
  if (!snapshot) {
    const CameraStatus camera = view.vitals().camera;
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
