// SPDX-License-Identifier: Apache-2.0
// Why: /api/v1/cameras: the sources by name. There is one; its picture and stream are those of the short paths.
#include "daemon/http/live/stats.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

Json with_links(const Context& context) {
  const std::string self = "/api/v1/cameras/" + context.source_name;
  Json json = camera_json(context, context.vitals());
  json["since"] = to_rfc3339(context.vitals().camera.since);
  json["links"] = {{"self", self}, {"snapshot", self + "/snapshot.jpg"}, {"stream", self + "/stream.mjpg"}};
  return json;
}

// The answer of `handler` for the source that the path names.
Reply of_source(const Context& context, const Call& call, Reply (*handler)(const Context& context, const Call& call)) {
  if (call.path_parameter("source") == context.source_name) return handler(context, call);
  return problem("not-found", "there is no camera of this name", "GET /api/v1/cameras lists them");
}

}  // namespace

Reply get_cameras(const Context& context, const Call& /*call*/) {
  return json_reply(Json{{"items", {with_links(context)}}, {"has_more", false}}.dump(), "no-store");
}

Reply get_camera(const Context& context, const Call& /*call*/) {
  return json_reply(with_links(context).dump(), "no-store");
}

Reply get_named_camera(const Context& context, const Call& call) { return of_source(context, call, &get_camera); }
Reply get_named_snapshot(const Context& context, const Call& call) { return of_source(context, call, &get_snapshot); }
Reply get_named_stream(const Context& context, const Call& call) { return of_source(context, call, &get_stream); }

}  // namespace kinglet::daemon::http
