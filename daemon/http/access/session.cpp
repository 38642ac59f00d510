// SPDX-License-Identifier: Apache-2.0
// Why: /api/v1/session: who am I, a token becomes a cookie, and the first browser of the house becomes the owner.
#include "daemon/http/access/door.h"
#include "daemon/http/message/body.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::string_view kExpected = "expected {\"token\": \"kgl_...\"} or {\"claim\": true}";

TokenBook::Way way_of(const Caller& caller) {
  return caller.proxied ? TokenBook::Way::kProxy : TokenBook::Way::kItself;
}

Reply session_reply(const AccessView& view, const Caller& caller) {
  TokenBook& tokens = view.door.tokens();
  Json json{{"role", to_string(caller.role)}};
  if (!caller.token_name.empty()) json["token"] = caller.token_name;
  json["local"] = caller.local;
  json["claimable"] = caller.local && tokens.claimable(way_of(caller));
  // Who could not become the owner any more is told what helps; from elsewhere nobody could.
  if (const std::optional<bool> owned = tokens.owned(); owned && caller.local) json["owned"] = *owned;
  // Whoever may read may see that somebody was faster.
  if (const std::optional<Token> owner = tokens.owner(); owner && caller.role >= Role::kRead) {
    json["owner"] = {{"claimed_at", owner->created_at}, {"claimed_from", owner->claimed_from}};
  }
  return json_reply(json.dump(), "no-store");
}

Reply with_token(const AccessView& view, Caller caller, TokenBook::Holder holder, std::string_view token) {
  caller.role = std::max(caller.role, holder.role);
  caller.token_name = std::move(holder.name);
  Reply reply = session_reply(view, caller);
  reply.headers.emplace_back("Set-Cookie", session_cookie(token, caller.secure));
  return reply;
}

Reply claim(const AccessView& view, const Caller& caller) {
  if (!caller.local) {
    return problem("role-too-low", "only a browser on the home network can become the owner",
                   "at the device: sudo kinglet token add --role admin");
  }
  const Result<TokenBook::Made> made = view.door.tokens().claim(caller.address, way_of(caller));
  if (made) return with_token(view, caller, {.name = made->name, .role = Role::kAdmin}, made->text);
  const Error& error = made.error();
  if (error.code == ErrorCode::kNotPermitted) return problem("role-too-low", error.message, error.hint);
  return problem("storage-full", describe(error), error.hint);
}

}  // namespace

Reply get_session(const AccessView& view, const Call& call) {
  Reply reply = session_reply(view, call.caller);
  if (call.caller.bad_token) view.door.note_failure(call.caller);
  if (call.caller.bad_token && call.caller.evidence == Evidence::kCookie) {
    reply.headers.emplace_back("Set-Cookie", session_cookie({}, call.caller.secure));
  }
  return reply;
}

Reply post_session(const AccessView& view, const Call& call) {
  if (call.content_type != "application/json") {
    return problem("unsupported-media-type", "the body is JSON", "send Content-Type: application/json");
  }
  const Body json = parse_body(call.body);
  if (!json.is_object() || json.size() != 1) return problem("bad-json", kExpected);
  if (json.contains("claim") && json["claim"] == true) return claim(view, call.caller);
  if (!json.contains("token") || !json["token"].is_string()) return problem("bad-json", kExpected);
  const std::string token = json["token"];
  std::expected<TokenBook::Holder, Reply> holder = view.door.check_token(call.caller, token);
  if (!holder) return holder.error();
  return with_token(view, call.caller, std::move(*holder), token);
}

Reply delete_session(const AccessView& /*view*/, const Call& call) {
  return Reply{.status = 204, .headers = {{"Set-Cookie", session_cookie({}, call.caller.secure)}}};
}

}  // namespace kinglet::daemon::http
