// SPDX-License-Identifier: Apache-2.0
// Why: what a person does with a history while no daemon has it: look at all of it, make it smaller, forget.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "store/picture_files.h"
#include "store/retention.h"

namespace kinglet::store {

struct StoreInfo {
  std::int64_t version = 0;
  std::uint64_t visits = 0;
  std::uint64_t species = 0;
  std::uint64_t highest_seq = 0;
  std::uint64_t database_bytes = 0;
  std::optional<WallTime> first_at;  // of the visits that are kept, by seq
  std::optional<WallTime> last_at;
  PictureFiles::Found pictures;
  std::vector<std::string> damaged;  // names of databases that were moved aside
};

// These two read only; a daemon may run.
[[nodiscard]] Result<StoreInfo> read_info(const std::filesystem::path& folder);
// A line for each fault of the database and for each picture that is missing or not wanted; empty: sound.
[[nodiscard]] Result<std::vector<std::string>> check_folder(const std::filesystem::path& folder);

// These write. kBusy: a daemon has the folder.
[[nodiscard]] Result<RetentionResult> prune_folder(const std::filesystem::path& folder, const RetentionRule& rule,
                                                   WallTime now);
// The visit with this id, or all of local days before `before`; the other one is empty. Gives how many. Numbers stay
// used, and the freed pages are given back to the disk.
[[nodiscard]] Result<std::uint64_t> forget_visits(const std::filesystem::path& folder, std::string_view id,
                                                  std::string_view before);
[[nodiscard]] Result<std::uint64_t> forget_everything(const std::filesystem::path& folder);

}  // namespace kinglet::store
