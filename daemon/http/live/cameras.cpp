// SPDX-License-Identifier: Apache-2.0
// Why: /api/v1/cameras: the sources by name. There is one; its picture and stream are those of the short paths.
#include "daemon/doctor/health.h"
#include "daemon/http/live/stats.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

Json with_links(const CameraView& view) {
  const std::string self = "/api/v1/cameras/" + view.source_name;
  Json json = camera_json(view, view.vitals());
  json["since"] = to_rfc3339(view.vitals().camera.since);
  json["links"] = {{"self", self}, {"snapshot", self + "/snapshot.jpg"}, {"stream", self + "/stream.mjpg"}};
  return json;
}

// The answer of `handler` for the source that the path names.
template <typename View>
Reply of_source(const View& view, const Call& call, Reply (*handler)(const View& view, const Call& call)) {
  if (call.path_parameter("source") == view.source_name) return handler(view, call);
  return problem("not-found", "there is no camera of this name", "GET /api/v1/cameras lists them");
}

}  // namespace

Reply get_cameras(const CameraView& view, const Call& /*call*/) {
  return json_reply(Json{{"items", {with_links(view)}}, {"has_more", false}}.dump(), "no-store");
}

Reply get_camera(const CameraView& view, const Call& /*call*/) {
  return json_reply(with_links(view).dump(), "no-store");
}

Reply get_named_camera(const CameraView& view, const Call& call) { return of_source(view, call, &get_camera); }
Reply get_named_snapshot(const PicturesView& view, const Call& call) { return of_source(view, call, &get_snapshot); }
Reply get_named_stream(const PicturesView& view, const Call& call) { return of_source(view, call, &get_stream); }

}  // namespace kinglet::daemon::http
