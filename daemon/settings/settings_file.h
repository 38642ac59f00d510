// SPDX-License-Identifier: Apache-2.0
// Why: what was set over HTTP lies in the state folder: settings.toml, and beside it what it was before each change.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

inline constexpr std::size_t kMostSettingsBytes = 64U << 10;
inline constexpr std::size_t kMostPastChanges = 20;

// A change that was made; what came of it are the settings before the next one.
struct PastChange {
  std::string at;  // RFC 3339
  std::string by;
  config::Settings before;
};

// settings.toml of another box, as far as this version takes it.
struct JudgedSettings {
  config::Settings kept;
  std::vector<config::LeftOut> left_out;
};

[[nodiscard]] std::filesystem::path settings_file(const std::filesystem::path& folder);

// Nothing: there is none, or no folder. kIo, kBadData, kNotPermitted: there is one that cannot be read.
[[nodiscard]] Result<std::optional<config::SettingsText>> read_settings(const std::filesystem::path& folder);
// Beside and renamed, 0600, on the disk when it returns. kCannotCreate, kIo: all is as it was.
[[nodiscard]] Result<void> write_settings(const std::filesystem::path& folder, const config::Settings& settings);
// A file that cannot be used makes room and stays to be looked at, by another name. What became of it, for a person.
[[nodiscard]] std::string set_aside(const std::filesystem::path& file);

// The same where some of it can be used, which `settings` are: they are the file from now on.
[[nodiscard]] std::string keep_only(const std::filesystem::path& folder, const config::Settings& settings);

// Oldest first, at most kMostPastChanges. None: there is no file. kBadData: not what we write.
[[nodiscard]] Result<std::vector<PastChange>> read_past_changes(const std::filesystem::path& folder);
[[nodiscard]] Result<void> write_past_changes(const std::filesystem::path& folder,
                                              const std::vector<PastChange>& changes);

}  // namespace kinglet::daemon
