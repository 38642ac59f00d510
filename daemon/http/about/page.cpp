// SPDX-License-Identifier: Apache-2.0
// Why: the page for people, built into the program.
#include "daemon/http/about/web_files.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"

namespace kinglet::daemon::http {
namespace {

Reply file_reply(const WebFile& file, const Call& call, std::string_view cache_control) {
  const std::string tag = "\"" + std::string(file.hash) + "\"";
  Reply reply{.headers = {{"ETag", tag}, {"Cache-Control", std::string(cache_control)}}};
  if (call.if_none_match == tag) {
    reply.status = 304;
    return reply;
  }
  reply.content_type = file.content_type;
  reply.body = file.bytes;
  return reply;
}

}  // namespace

Reply get_page(const NoView& /*view*/, const Call& call) {
  return file_reply(*find_web_file("index.html"), call, "no-cache");
}

Reply get_page_file(const NoView& /*view*/, const Call& call) {
  const WebFile* file = find_web_file(call.path_parameter("file"));
  if (file == nullptr) return problem("not-found", "the page has no such file");
  // index.html names each file with its hash, so that a new version has a new address.
  const bool named_by_hash = call.query_value("v") == file->hash;
  Reply reply = file_reply(*file, call, named_by_hash ? "max-age=31536000, immutable" : "no-cache");
  // It lies beside the other files and answers for the page, which lies above them.
  if (file->name == "worker.js") reply.headers.emplace_back("Service-Worker-Allowed", "/");
  return reply;
}

}  // namespace kinglet::daemon::http
