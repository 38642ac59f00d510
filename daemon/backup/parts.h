// SPDX-License-Identifier: Apache-2.0
// Why: what of a box is carried, and by what name it stands in an archive: one table for the way out and the way in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::daemon::backup {

// kShared: what HTTP may carry: history, pictures, models, settings. kEverything: the files of /etc, tokens and secrets
// as well; for who is on the machine.
enum class Carry : std::uint8_t { kShared, kEverything };

// Where a box has its things. All are absolute.
struct Places {
  std::filesystem::path state;
  std::filesystem::path models;  // empty: none
  std::filesystem::path etc;     // of the owner's files; empty: they are not carried
};

// Names in an archive are those of a place and the path below it.
inline constexpr std::string_view kManifest = "manifest.json";  // the first
inline constexpr std::string_view kEnd = "end.json";            // the last
inline constexpr std::string_view kDatabase = "state/kinglet.db";
inline constexpr std::string_view kPictures = "state/pictures";
inline constexpr std::uint64_t kMostNoteBytes = 64U << 10;  // of the manifest and the end
inline constexpr std::uint64_t kLargestSmallFile = 16U << 20;
inline constexpr std::size_t kMostSmallFiles = 2000;
inline constexpr std::uint64_t kMostFiles = 5'000'000;

enum class PartKind : std::uint8_t { kHistory, kPicture, kModel, kSetting, kPrivate, kOwnersFile };

// What a name in an archive stands for. Nothing: no name of ours, or one that would lead out of its place.
[[nodiscard]] std::optional<PartKind> part_of(std::string_view name);
[[nodiscard]] std::uint64_t largest(PartKind kind);
[[nodiscard]] bool is_carried(PartKind kind, Carry carry);

struct PartFile {
  std::string name;  // in the archive
  std::filesystem::path path;
};
// All but history and pictures, by name. What is no plain file, or has a name that cannot be carried, is in `left_out`.
[[nodiscard]] std::vector<PartFile> part_files(const Places& places, Carry carry, std::vector<std::string>& left_out);

// Files of the state that a box has or has not: where an archive has none, there is none afterwards.
[[nodiscard]] std::vector<std::string> setting_names();

}  // namespace kinglet::daemon::backup
