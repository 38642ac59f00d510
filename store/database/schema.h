// SPDX-License-Identifier: Apache-2.0
// Why: what the database looks like, and how an older one becomes the newest. The steps are never changed, only added
// to.
#pragma once

#include <span>
#include <string_view>

#include "engine/base/error.h"
#include "store/database/sqlite.h"

namespace kinglet::store {

// Brings a database from version - 1 to version (PRAGMA user_version).
struct Step {
  int version;
  std::string_view sql;
};
[[nodiscard]] std::span<const Step> schema_steps();

// "kngl": marks a database as ours (PRAGMA application_id).
inline constexpr std::int32_t kApplicationId = 0x6B6E676C;

// Runs the missing steps, each in a transaction of its own. kUnsupported: the database was written by a newer version,
// or it is not ours; nothing was changed then.
[[nodiscard]] Result<void> migrate(Database& database, std::span<const Step> steps = schema_steps());
// The same judgement without changing anything: kUnsupported as above; false: steps are missing.
[[nodiscard]] Result<bool> is_newest(Database& database);

}  // namespace kinglet::store
