// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/settings_file.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t kMostHistoryBytes = 2U << 20;
constexpr std::size_t kLongestWord = 100;

fs::path history_file(const fs::path& folder) { return folder / "settings-history.json"; }

// Missing, not what cannot be read: a link to nowhere and a folder are there.
Result<bool> is_there(const fs::path& path) {
  std::error_code failed;
  const fs::file_status status = fs::symlink_status(path, failed);
  if (status.type() == fs::file_type::not_found) return false;
  if (!failed) return true;
  const bool closed = failed == std::errc::permission_denied;
  return fail(closed ? ErrorCode::kNotPermitted : ErrorCode::kIo, "cannot look for the file: " + failed.message(),
              path.string(), closed ? "run this with sudo" : "check the disk");
}

Result<void> write_private(const fs::path& path, std::string_view bytes) {
  KINGLET_TRY(write_file(path, bytes, Overwrite::kReplace, Readers::kOwner));
  return sync_folder(path.parent_path());
}

std::optional<config::Settings> settings_of(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  config::Settings settings;
  for (const auto& [key, value] : json.items()) {
    std::optional<PlainValue> plain = config::plain_value(value.is_string() ? value.get<std::string>() : "");
    if (!plain) return std::nullopt;
    settings[key] = std::move(*plain);
  }
  return settings;
}

std::optional<PastChange> change_of(const Json& json) {
  const auto word = [&](const char* member) {
    const auto found = json.find(member);
    return found != json.end() && found->is_string() ? printable(found->get<std::string>(), kLongestWord)
                                                     : std::string();
  };
  if (!json.is_object() || !json.contains("before")) return std::nullopt;
  std::optional<config::Settings> before = settings_of(json["before"]);
  if (!before) return std::nullopt;
  return PastChange{.at = word("at"), .by = word("by"), .before = std::move(*before)};
}

}  // namespace

fs::path settings_file(const fs::path& folder) { return folder / "settings.toml"; }

Result<std::optional<config::SettingsText>> read_settings(const fs::path& folder) {
  const fs::path path = settings_file(folder);
  if (folder.empty() || !KINGLET_TRY(is_there(path))) return std::nullopt;
  return config::SettingsText{.file = path, .text = KINGLET_TRY(read_file(path, 2 * kMostSettingsBytes))};
}

Result<void> write_settings(const fs::path& folder, const config::Settings& settings) {
  return write_private(settings_file(folder), config::settings_text(settings));
}

std::string set_aside(const fs::path& file) {
  const fs::path to = file.string() + ".damaged";
  std::error_code failed;
  fs::rename(file, to, failed);
  if (failed) return format_text("{} cannot be set aside: {}", file.string(), failed.message());
  return format_text("it was set aside as {}", to.string());
}

std::string keep_only(const fs::path& folder, const config::Settings& settings) {
  const fs::path file = settings_file(folder);
  const fs::path to = file.string() + ".damaged";
  const auto exchange = [&]() -> Result<void> {
    const std::string text = KINGLET_TRY(read_file(file, 2 * kMostSettingsBytes));
    KINGLET_TRY(write_private(to, text));
    return write_settings(folder, settings);
  };
  const Result<void> exchanged = exchange();
  if (!exchanged) return format_text("{} stays as it is: {}", file.string(), describe(exchanged.error()));
  return format_text("as it was the file is kept as {}", to.string());
}

Result<std::vector<PastChange>> read_past_changes(const fs::path& folder) {
  const fs::path path = history_file(folder);
  if (folder.empty() || !KINGLET_TRY(is_there(path))) return std::vector<PastChange>{};
  const Json json = Json::parse(KINGLET_TRY(read_file(path, kMostHistoryBytes)), nullptr, false);
  const auto bad = [&] {
    return fail(ErrorCode::kBadData, "is not a history of settings as kinglet writes it", path.string());
  };
  if (!json.is_object() || !json.contains("changes") || !json["changes"].is_array()) return bad();
  std::vector<PastChange> changes;
  for (const Json& one : json["changes"]) {
    std::optional<PastChange> change = change_of(one);
    if (!change || changes.size() == kMostPastChanges) return bad();
    changes.push_back(std::move(*change));
  }
  return changes;
}

Result<void> write_past_changes(const fs::path& folder, const std::vector<PastChange>& changes) {
  Json list = Json::array();
  for (const PastChange& change : changes) {
    Json before = Json::object();
    for (const auto& [key, value] : change.before) before[key] = config::toml_text(value);
    list.push_back({{"at", change.at}, {"by", change.by}, {"before", std::move(before)}});
  }
  const Json json{{"changes", std::move(list)}};
  return write_private(history_file(folder), json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace kinglet::daemon
