// SPDX-License-Identifier: Apache-2.0
// Why: /api/v1/cameras: the sources by name; which camera a request means.
#include <algorithm>

#include "daemon/doctor/health.h"
#include "daemon/http/live/stats.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

Json with_links(const CamerasView& view, const Vitals& vitals, std::size_t index) {
  const std::string self = "/api/v1/cameras/" + view.cameras[index].name;
  Json json = camera_json(view.cameras[index], vitals, index);
  json["since"] = to_rfc3339(vitals.cameras[index].status.since);
  json["links"] = {{"self", self}, {"snapshot", self + "/snapshot.jpg"}, {"stream", self + "/stream.mjpg"}};
  return json;
}

}  // namespace

std::expected<std::size_t, Reply> camera_of(const CamerasView& view, const Call& call) {
  std::string_view name = call.path_parameter("source");
  if (name.empty()) name = call.query_value("source").value_or(view.cameras.front().name);
  const auto found = std::ranges::find(view.cameras, name, &CameraView::name);
  if (found != view.cameras.end()) return static_cast<std::size_t>(found - view.cameras.begin());
  return std::unexpected(problem("not-found", "there is no camera of this name", "GET /api/v1/cameras lists them"));
}

Reply get_cameras(const CamerasView& view, const Call& /*call*/) {
  const Vitals vitals = view.vitals();
  Json items = Json::array();
  for (std::size_t i = 0; i < view.cameras.size(); ++i) items.push_back(with_links(view, vitals, i));
  return json_reply(Json{{"items", std::move(items)}, {"has_more", false}}.dump(), "no-store");
}

Reply get_camera(const CamerasView& view, const Call& call) {
  const auto index = camera_of(view, call);
  if (!index) return index.error();
  return json_reply(with_links(view, view.vitals(), *index).dump(), "no-store");
}

// The same of the camera that the path names.
Reply get_named_camera(const CamerasView& view, const Call& call) { return get_camera(view, call); }
Reply get_named_snapshot(const CamerasView& view, const Call& call) { return get_snapshot(view, call); }
Reply get_named_stream(const CamerasView& view, const Call& call) { return get_stream(view, call); }

}  // namespace kinglet::daemon::http
