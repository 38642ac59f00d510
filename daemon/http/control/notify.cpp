// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/notify, PUT and DELETE /api/v1/notify/{name}, POST /api/v1/notify/test: who gets messages on a
// phone. Secrets go in and never come out.
#include <algorithm>

#include "daemon/http/control/settings.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/notify_desk.h"
#include "daemon/http/routes/routes.h"
#include "daemon/models/model_board.h"
#include "engine/base/format.h"
#include "visits/names/folded.h"
#include "visits/names/match.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::size_t kMostWish = 16'384;
constexpr std::string_view kExample = R"(such as {"service": "ntfy", "to": "my-birds-7f3a", "only": ["first_today"]})";

// Names that nobody here bears yet: mistyped, or of a bird that a person has yet to name so. Without a model or a
// history nobody can tell.
Json unknown_json(const NotifyView& view, const NotifyService& service) {
  Json unknown = Json::array();
  const auto found = std::ranges::find(service.values, "species", &std::pair<std::string, PlainValue>::first);
  const auto* const names = found == service.values.end() ? nullptr : std::get_if<PlainList>(&found->second);
  const auto model = view.models.facts();
  if (names == nullptr || names->empty() || !model) return unknown;
  const auto seen = view.seen();
  if (!seen) return unknown;
  for (const PlainValue& value : *names) {
    const auto* const name = std::get_if<std::string>(&value);
    if (name == nullptr || visits::is_known(*model->taxa, *name)) continue;
    const std::string wished = visits::folded(*name);
    const auto is_it = [&](const std::string& id) { return visits::is_called(id, wished); };
    if (!wished.empty() && std::ranges::any_of(*seen, is_it)) continue;
    Json near = Json::array();
    if (unknown.size() < visits::kMostHelped) {
      const std::string id = visits::nearest_called(*model->taxa, *name);
      if (!id.empty()) near.push_back({{"species_id", id}});
    }
    unknown.push_back({{"name", *name}, {"near", std::move(near)}});
  }
  return unknown;
}

Json service_json(const NotifyView& view, const NotifyService& service) {
  Json json = Json::object();
  for (const auto& [key, value] : service.values) json[key] = value;
  json["secret"] = service.has_secret;
  json["source"] = service.source;
  json["sent_total"] = service.sent;
  json["failed_tries_total"] = service.failed_tries;
  json["dropped_total"] = service.dropped;
  json["held_back_total"] = service.held_back;
  json["waiting"] = service.waiting;
  json["unknown_species"] = unknown_json(view, service);
  if (!service.detail.empty()) {
    json["detail"] = service.detail;
    json["since"] = to_rfc3339(service.since);
  }
  return json;
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Reply no_such_service() {
  return problem("not-found", "there is no such service of messages", "GET /api/v1/notify has all of them");
}

std::expected<Body, Reply> read_object(const Call& call, std::string_view example) {
  if (call.content_type != "application/json") {
    return std::unexpected(problem("unsupported-media-type", "this is JSON", "send Content-Type: application/json"));
  }
  if (call.body.size() > kMostWish) return std::unexpected(problem("body-too-large", "it is larger than 16 KiB"));
  Body body = parse_body(call.body);
  if (!body.is_object()) return std::unexpected(problem("bad-json", "expected an object", example));
  return body;
}

std::expected<NotifyWish, Reply> read_wish(const Call& call) {
  auto body = read_object(call, kExample);
  if (!body) return std::unexpected(std::move(body.error()));
  NotifyWish wish{.name = std::string(call.path_parameter("name")), .values = {}, .secret = {}, .by = who(call)};
  for (const auto& [key, value] : body->items()) {
    if (key == "name") return std::unexpected(problem("bad-json", "\"name\" is said by the path", kExample));
    if (key != "secret") {
      wish.values.emplace(key, plain_of(value));
    } else if (value.is_string()) {
      wish.secret = value.get<std::string>();
    } else {
      return std::unexpected(problem("bad-json", "\"secret\" is a text; without it the one that is kept counts"));
    }
  }
  return wish;
}

}  // namespace

Reply get_notify(const NotifyView& view, const Call& /*call*/) {
  Json items = Json::array();
  for (const NotifyService& service : view.desk.list()) items.push_back(service_json(view, service));
  return json_reply(text_of(Json{{"items", std::move(items)}, {"has_more", false}}), "no-store");
}

Reply put_notify(const NotifyView& view, const Call& call) {
  auto wish = read_wish(call);
  if (!wish) return wish.error();
  if (const auto kept = view.desk.put(*wish); !kept) return refused(kept.error());
  for (const NotifyService& service : view.desk.list()) {
    if (service.name == wish->name) return json_reply(text_of(service_json(view, service)), "no-store");
  }
  return no_such_service();  // somebody has removed it again
}

Reply delete_notify(const NotifyView& view, const Call& call) {
  const auto removed = view.desk.remove(std::string(call.path_parameter("name")), who(call));
  if (!removed) return refused(removed.error());
  return *removed ? Reply{.status = 204} : no_such_service();
}

Reply post_notify_test(const NotifyView& view, const Call& call) {
  const auto body = read_object(call, R"(such as {"name": "phone"})");
  if (!body) return body.error();
  if (!body->contains("name") || !(*body)["name"].is_string()) {
    return problem("bad-json", "expected the name of a service", R"(such as {"name": "phone"})");
  }
  const auto name = (*body)["name"].get<std::string>();
  const Result<void> sent = view.desk.try_now(name);
  if (sent) return json_reply(text_of(Json{{"name", name}, {"sent", true}}), "no-store");
  if (sent.error().code == ErrorCode::kNotFound) return no_such_service();
  if (sent.error().code == ErrorCode::kBusy) return problem("busy", sent.error().message, sent.error().hint);
  return problem("not-delivered", describe(sent.error()), sent.error().hint);
}

}  // namespace kinglet::daemon::http
