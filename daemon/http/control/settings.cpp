// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/config and POST /api/v1/config/validate: what is in force and why, and what a file would be worth.
// Nothing is ever changed over HTTP.
#include <ranges>

#include "daemon/http/routes/json.h"
#include "daemon/http/routes/routes.h"
#include "daemon/http/routes/setting.h"
#include "engine/base/numbers.h"

namespace kinglet::daemon::http {
namespace {

// Our values are written alike in TOML and JSON; what ever is not stays a text.
Json value_of(const std::string& toml) {
  Json value = Json::parse(toml, nullptr, false);
  return value.is_discarded() ? Json(toml) : value;
}

// where is "NAME:LINE:COLUMN", the message begins with "KEY = " where a value is wrong.
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
  const std::size_t equals = fault.message.find(" = ");
  if (equals != std::string::npos && fault.message.substr(0, equals).find(' ') == std::string::npos) {
    json["key"] = fault.message.substr(0, equals);
  }
  json["detail"] = fault.message;
  if (!fault.hint.empty()) json["hint"] = fault.hint;
  return json;
}

}  // namespace

std::string without_secrets(std::string text) {
  constexpr std::string_view kBegin = "://";
  for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    const std::size_t end = text.find_first_of("/ \"'?#", at);
    const std::size_t sign = text.substr(at, end == std::string::npos ? end : end - at).rfind('@');
    if (sign != std::string::npos) text.replace(at, sign, "***");
  }
  return text;
}

std::string shown_value(std::string_view key, std::string value) {
  value = without_secrets(std::move(value));
  const std::size_t host = value.find("://");
  if (key != "webhook.url" || host == std::string::npos) return value;
  const std::size_t end = value.find_first_of("/?#", host + 3);
  if (end == std::string::npos) return value;
  return value.substr(0, end) + "/***\"";
}

Reply get_config(const ConfigView& view, const Call& /*call*/) {
  Json keys = Json::object();
  for (const Setting& setting : view.settings()) {
    Json& key = keys[setting.key];
    key = {{"value", value_of(shown_value(setting.key, setting.value))},
           {"source", setting.source},
           {"reload", setting.reload}};
    if (!setting.waiting.empty()) key["waiting"] = value_of(shown_value(setting.key, setting.waiting));
  }
  return json_reply(Json{{"keys", std::move(keys)}}.dump(), "no-store");
}

Reply post_config_validate(const ConfigView& view, const Call& call) {
  Json errors = Json::array();
  for (const Error& fault : view.check_settings(call.body)) errors.push_back(fault_json(fault));
  return json_reply(Json{{"valid", errors.empty()}, {"errors", errors}}.dump(), "no-store");
}

}  // namespace kinglet::daemon::http
