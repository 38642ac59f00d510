// SPDX-License-Identifier: Apache-2.0
// Why: POST /api/v1/invitations: the owner's page adds another phone. The picture is drawn here, so that the token goes
// nowhere but to the owner's own screen.
#include "daemon/http/access/door.h"
#include "daemon/http/message/body.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/tokens/qr.h"
#include "daemon/values/page_address.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

// As the owner's own browser found the device, unless that is on the device.
std::string page_for_others(const AccessView& view, const Call& call) {
  if (!is_loopback_host(call.host)) return format_text("{}://{}", call.caller.secure ? "https" : "http", call.host);
  std::string page = view.page();
  if (page.ends_with('/')) page.pop_back();
  return page;
}

}  // namespace

Reply post_invitation(const AccessView& view, const Call& call) {
  if (call.content_type != "application/json") {
    return problem("unsupported-media-type", "the body is JSON", "send Content-Type: application/json");
  }
  const Body json = parse_body(call.body);
  const std::string word = json.is_object() && json.size() == 1 && json.contains("role") && json["role"].is_string()
                               ? json["role"]
                               : Body("");
  // Who may do everything is made at the device only.
  const std::optional<Role> role = role_of(word);
  if (!role || (*role != Role::kRead && *role != Role::kLive)) {
    return problem("bad-json", "expected {\"role\": \"live\"} or {\"role\": \"read\"}",
                   "admin tokens are made at the device: sudo kinglet token add --role admin");
  }
  const std::string by = call.caller.token_name.empty() ? call.caller.address : call.caller.token_name;
  const Result<TokenBook::Made> made = view.door.tokens().invite(*role, by);
  if (!made) {
    return problem(made.error().code == ErrorCode::kBusy ? "busy" : "storage-full", describe(made.error()),
                   made.error().hint);
  }
  const std::string link = format_text("{}/#token={}", page_for_others(view, call), made->text);
  Json answer{{"name", made->name}, {"role", word}, {"link", link}};
  // A phone that is sent to its own loopback finds nothing there.
  const Result<QrCode> code = make_qr(link);
  if (code && !is_loopback_host(link)) answer["qr_svg"] = qr_as_svg(*code);
  return json_reply(answer.dump(), "no-store");
}

}  // namespace kinglet::daemon::http
