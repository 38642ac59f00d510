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
#include "store/database/picture_files.h"
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
struct Checked {
  std::vector<std::string> faults;  // a line for each of the database, and for each picture that is missing
  std::uint64_t strays = 0;         // picture files that belong to no visit: nothing is lost
  bool strays_stay = false;         // as long as a damaged database is there
};
[[nodiscard]] Result<Checked> check_folder(const std::filesystem::path& folder);

// These write. kBusy: a daemon has the folder.
[[nodiscard]] Result<RetentionResult> prune_folder(const std::filesystem::path& folder, const RetentionRule& rule,
                                                   WallTime now);
// The visit with this id, or all of local days before `before`; the other one is empty. Gives how many. Numbers stay
// used, and the freed pages are given back to the disk.
[[nodiscard]] Result<std::uint64_t> forget_visits(const std::filesystem::path& folder, std::string_view id,
                                                  std::string_view before);
struct Forgotten {
  std::uint64_t visits = 0;
  std::uint64_t pictures_left = 0;  // of no visit, where nothing may be cleared away (PictureFiles::sweep)
};
[[nodiscard]] Result<Forgotten> forget_everything(const std::filesystem::path& folder);

}  // namespace kinglet::store
