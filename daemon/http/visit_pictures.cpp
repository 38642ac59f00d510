// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/visits/{id}/crop.jpg and snapshot.jpg: files by id, never by a name of the request.
#include "daemon/http/history.h"
#include "daemon/http/problem.h"
#include "daemon/http/routes.h"

namespace kinglet::daemon::http {
namespace {

Reply picture_reply(const Context& context, const Call& call, store::Picture kind) {
  const std::string_view id = call.path_parameter("id");
  const Result<std::optional<visits::BookedVisit>> found = context.visits.find(id);
  if (!found) return store_problem(found.error());
  if (!*found) return no_such_visit();
  // The pictures of an ended visit never change.
  const std::string tag = "\"" + (*found)->visit.id + (kind == store::Picture::kCrop ? "-crop\"" : "-frame\"");
  constexpr std::string_view kForEver = "private, max-age=31536000, immutable";
  Result<std::string> bytes = context.store.picture(id, kind);
  if (!bytes && bytes.error().code == ErrorCode::kUnavailable) return problem("picture-expired", bytes.error().message);
  if (!bytes && bytes.error().code == ErrorCode::kNotFound) return problem("not-found", bytes.error().message);
  if (!bytes) return store_problem(bytes.error());
  Reply reply{.headers = {{"ETag", tag}, {"Cache-Control", std::string(kForEver)}}};
  if (call.if_none_match == tag) {
    reply.status = 304;
    return reply;
  }
  reply.content_type = "image/jpeg";
  reply.body = std::move(*bytes);
  return reply;
}

}  // namespace

Reply get_visit_crop(const Context& context, const Call& call) {
  return picture_reply(context, call, store::Picture::kCrop);
}

Reply get_visit_snapshot(const Context& context, const Call& call) {
  return picture_reply(context, call, store::Picture::kFrame);
}

}  // namespace kinglet::daemon::http
