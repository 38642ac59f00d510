// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/config and POST /api/v1/config/validate: what is in force and why, and what a file would be worth.
#include "daemon/http/control/settings.h"

#include <cmath>

#include "daemon/http/message/etag.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/log.h"
#include "engine/base/numbers.h"

namespace kinglet::daemon::http {
namespace {

Json bound_json(double bound) {
  return std::floor(bound) == bound ? Json(static_cast<std::int64_t>(bound)) : Json(bound);
}

Json setting_json(const Setting& setting) {
  Json json{{"value", shown_value(setting.key, setting.value)},
            {"source", setting.source},
            {"reload", setting.reload},
            {"settable", setting.settable},
            {"kind", setting.kind},
            {"help", setting.help},
            {"default", setting.default_value}};
  if (!setting.unit.empty()) json["unit"] = setting.unit;
  if (setting.range) {
    json["range"] = {{"least", bound_json(setting.range->first)}, {"most", bound_json(setting.range->second)}};
  }
  if (!setting.choices.empty()) json["choices"] = setting.choices;
  if (setting.waiting) json["waiting"] = shown_value(setting.key, *setting.waiting);
  return json;
}

std::string shown_text(std::string_view key, std::string text) {
  text = without_logins(std::move(text));
  const std::size_t host = text.find("://");
  if (key != "webhook.url" || host == std::string::npos) return text;
  const std::size_t end = text.find_first_of("/?#", host + 3);
  return end == std::string::npos ? text : text.substr(0, end) + "/***";
}

// where is "NAME:LINE:COLUMN".
Json fault_json(const Error& fault) {
  Json json = Json::object();
  std::string_view where = fault.where;
  const auto take_number = [&]() -> std::optional<int> {
    const std::size_t colon = where.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto number = parse_number<int>(where.substr(colon + 1));
    where = where.substr(0, colon);
    return number;
  };
  const std::optional<int> column = take_number();
  const std::optional<int> line = take_number();
  if (line && column) {
    json["line"] = *line;
    json["column"] = *column;
  }
  if (const std::string_view key = key_of_fault(fault); !key.empty()) json["key"] = key;
  json["detail"] = fault.message;
  if (!fault.hint.empty()) json["hint"] = fault.hint;
  return json;
}

}  // namespace

std::string_view key_of_fault(const Error& fault) {
  const std::string_view key = std::string_view(fault.message).substr(0, fault.message.find(" = "));
  return key.size() == fault.message.size() || key.contains(' ') ? std::string_view() : key;
}

Json config_json(const SettingsDesk& desk) {
  Json keys = Json::object();
  for (const Setting& setting : desk.list()) keys[setting.key] = setting_json(setting);
  const SettingsDesk::State state = desk.state();
  Json json{{"keys", std::move(keys)}};
  if (!state.file.empty()) json["settings"] = {{"file", state.file}, {"steps_back", state.steps_back}};
  if (!state.trouble.empty()) json["trouble"] = state.trouble;
  return json;
}

Reply config_reply(const SettingsDesk& desk) {
  Reply reply = json_reply(config_json(desk).dump(), "no-store");
  reply.headers.emplace_back("ETag", tag_of(reply.body));
  return reply;
}

PlainValue shown_value(std::string_view key, PlainValue value) {
  if (auto* text = std::get_if<std::string>(&value)) return shown_text(key, std::move(*text));
  if (auto* list = std::get_if<PlainList>(&value)) {
    for (PlainValue& one : *list) one = shown_value(key, std::move(one));
  }
  return value;
}

Reply get_config(const ConfigView& view, const Call& /*call*/) { return config_reply(view.desk); }

Reply post_config_validate(const ConfigView& view, const Call& call) {
  Json errors = Json::array();
  for (const Error& fault : view.check_settings(call.body)) errors.push_back(fault_json(fault));
  return json_reply(Json{{"valid", errors.empty()}, {"errors", errors}}.dump(), "no-store");
}

}  // namespace kinglet::daemon::http
