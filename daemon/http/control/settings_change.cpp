// SPDX-License-Identifier: Apache-2.0
// Why: PATCH /api/v1/config, GET /config/history and POST /config/undo. A patch is a JSON merge patch (RFC 7396) of
// what settings.toml says, {"decide": {"min_score": 0.5}}; the names of GET /config ("decide.min_score") are
// understood, too.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "daemon/http/control/settings.h"
#include "daemon/http/message/body.h"
#include "daemon/http/message/etag.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::size_t kMostBody = 65'536;
constexpr std::size_t kMostValues = 200;

// What is kept of a key whose value has members itself (decide.scores), to be merged with.
Body kept_value(const SettingsDesk& desk, const std::string& key) {
  for (const Setting& setting : desk.list()) {
    if (setting.key != key || setting.source == "default") continue;
    if (const auto* members = std::get_if<PlainMembers>(&setting.value)) return *members;
  }
  return Body::object();
}

SettingValue wish_of(const SettingsDesk& desk, std::string key, const Body& patch) {
  if (patch.is_null()) return {.key = std::move(key), .value = std::nullopt};
  if (!patch.is_object()) return {.key = std::move(key), .value = plain_of(patch)};
  Body merged = kept_value(desk, key);
  merged.merge_patch(patch);
  return {.key = std::move(key), .value = plain_of(merged)};
}

std::expected<std::vector<SettingValue>, Reply> read_patch(const SettingsDesk& desk, const Call& call) {
  if (call.body.size() > kMostBody) {
    return std::unexpected(problem("body-too-large", "a change of the settings is larger than 64 KiB"));
  }
  const auto bad = [](std::string_view detail) {
    return std::unexpected(
        problem("bad-json", detail, R"(such as {"decide": {"min_score": 0.5, "min_margin": null}})"));
  };
  const Body patch = parse_body(call.body);
  if (!patch.is_object()) return bad("expected an object of sections and their keys");
  std::vector<SettingValue> values;
  for (const auto& [name, value] : patch.items()) {
    if (name.contains('.')) {
      values.push_back(wish_of(desk, name, value));
    } else if (value.is_object()) {
      for (const auto& [key, one] : value.items())
        values.push_back(wish_of(desk, format_text("{}.{}", name, key), one));
    } else {
      return bad(format_text("\"{}\" is no section of keys", printable(name, 80)));
    }
    if (values.size() > kMostValues) return bad("these are more keys than there are");
  }
  return values;
}

SettingsWish wish_by(const ConfigView& view, const Call& call) {
  SettingsWish wish;
  wish.by = who(call);
  if (!call.if_match.empty()) {
    wish.still_as_seen = [&view, tags = call.if_match] {
      return names_tag(tags, tag_of(config_json(view.desk).dump()));
    };
  }
  return wish;
}

Json part_json(const SettingsChange::Part& part) {
  Json json{{"key", part.key}};
  if (part.before) json["before"] = *part.before;
  if (part.after) json["after"] = *part.after;
  return json;
}

}  // namespace

PlainValue plain_of(const Body& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>();
  const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
  if (value.is_number_integer() && !huge) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_array()) {
    PlainList list;
    for (const Body& one : value) list.push_back(plain_of(one));
    return list;
  }
  PlainMembers members;
  for (const auto& [name, one] : value.items()) members.emplace(name, plain_of(one));
  return members;
}

Reply refused(const SettingsRefusal& refusal) {
  using enum SettingsRefusal::Why;
  const std::string first = refusal.faults.empty() ? std::string() : describe(refusal.faults.front());
  switch (refusal.why) {
    case kStale:
      return problem("stale-etag", "the configuration is not as you saw it",
                     "GET it again and send the new ETag in If-Match");
    case kNothingToUndo:
      return problem("nothing-to-undo", "no change of the settings is known that could be undone");
    case kNotKept:
      return problem("storage-full", first.empty() ? "there is no state folder to keep settings in" : first,
                     first.empty() ? "set store.path" : refusal.faults.front().hint);
    case kSetInFile:
    case kWrong:
      break;
  }
  Reply reply = problem(refusal.why == kSetInFile ? "set-in-file" : "bad-setting", first,
                        refusal.faults.size() == 1 ? refusal.faults.front().hint : "");
  for (const Error& fault : refusal.faults) {
    std::string key(key_of_fault(fault));
    std::string where = key.empty() ? fault.where : std::string();
    reply.problem.faults.push_back(
        {.key = std::move(key), .detail = fault.message, .hint = fault.hint, .where = std::move(where)});
  }
  return reply;
}

std::string who(const Call& call) { return call.caller.token_name.empty() ? "this machine" : call.caller.token_name; }

Reply patch_config(const ConfigView& view, const Call& call) {
  constexpr std::array<std::string_view, 2> kTypes{"application/merge-patch+json", "application/json"};
  if (!std::ranges::contains(kTypes, call.content_type)) {
    return problem("unsupported-media-type", "a change of the settings is JSON",
                   "send Content-Type: application/merge-patch+json");
  }
  if (call.if_match.empty()) {
    return problem("if-match-required", "the header If-Match is missing", "send the ETag that GET /api/v1/config gave");
  }
  auto values = read_patch(view.desk, call);
  if (!values) return values.error();
  SettingsWish wish = wish_by(view, call);
  wish.values = std::move(*values);
  const auto changed = view.desk.change(wish);
  return changed ? config_reply(view.desk) : refused(changed.error());
}

Reply post_config_undo(const ConfigView& view, const Call& call) {
  const auto undone = view.desk.undo(wish_by(view, call));
  return undone ? config_reply(view.desk) : refused(undone.error());
}

Reply get_config_history(const ConfigView& view, const Call& /*call*/) {
  Json items = Json::array();
  for (const SettingsChange& change : view.desk.history()) {
    Json parts = Json::array();
    for (const SettingsChange::Part& part : change.parts) parts.push_back(part_json(part));
    items.push_back({{"at", change.at}, {"by", change.by}, {"changes", std::move(parts)}});
  }
  return json_reply(Json{{"items", std::move(items)}, {"has_more", false}}.dump(), "no-store");
}

}  // namespace kinglet::daemon::http
