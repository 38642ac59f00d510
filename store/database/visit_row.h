// SPDX-License-Identifier: Apache-2.0
// Why: a visit as a row, mapped in one place: the columns, their order, and the way there and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/local_time.h"
#include "store/database/sqlite.h"
#include "visits/visit.h"

namespace kinglet::store {

// Sizes of the files kept with a visit. Absent: there was none. 0: removed while the visit stays.
struct PictureSizes {
  std::optional<std::uint64_t> crop;
  std::optional<std::uint64_t> frame;
  std::optional<std::uint64_t> clip;

  [[nodiscard]] std::uint64_t total() const { return crop.value_or(0) + frame.value_or(0) + clip.value_or(0); }
  bool operator==(const PictureSizes&) const = default;
};

struct VisitRow {
  visits::Visit visit;
  LocalHour began;           // in the zone of the time it was stored
  std::uint64_t change = 0;  // of the store's change counter: the strong ETag of this visit
  PictureSizes pictures;

  bool operator==(const VisitRow&) const = default;
};

// The species the visit counts for: what is shown, or empty for what a person said is no bird.
[[nodiscard]] std::string counted_as(const visits::Visit& visit);

// Those of visit.predictions that have an answer, as rows. What another visit has under the same id stays.
[[nodiscard]] Result<void> put_predictions(Database& into, const visits::Visit& visit);

// All columns, in the order of bind_row() and read_row().
extern const std::string_view kVisitColumns;
inline constexpr int kVisitColumnCount = 38;
// kVisitColumns with the types of the schema, for a temporary table of the same form.
extern const std::string_view kVisitColumnTypes;

// Binds parameters 1 to kVisitColumnCount.
void bind_row(Statement& statement, const VisitRow& row);
// Reads columns 0 to kVisitColumnCount - 1. Values that no version of ours writes read as empty.
[[nodiscard]] VisitRow read_row(const Statement& statement);

[[nodiscard]] std::int64_t to_unix_ms(WallTime time);
[[nodiscard]] WallTime from_unix_ms(std::int64_t ms);

}  // namespace kinglet::store
