// SPDX-License-Identifier: Apache-2.0
// Why: the history stays within its bounds by itself: days, bytes and count, the oldest unreviewed first.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/units.h"
#include "store/database/picture_files.h"
#include "store/database/visit_database.h"

namespace kinglet::store {

struct RetentionRule {
  std::chrono::milliseconds keep_visits = std::chrono::days(730);
  std::chrono::milliseconds keep_frames = std::chrono::days(7);  // whole frames and clips: they may show people
  std::chrono::milliseconds keep_throughput = std::chrono::days(90);
  std::uint64_t max_throughput = 30'000;  // rows, those of a clock that is never set among them
  Bytes quota{1ULL << 30};
  std::uint64_t max_visits = 1'000'000;
};

struct RetentionResult {
  std::uint64_t visits_removed = 0;
  std::uint64_t frames_removed = 0;  // visits whose whole frame and clip went
  std::uint64_t picture_bytes_removed = 0;
};

// Applies the rule. `now` is absent when the clock cannot be believed: then nothing is removed for its age. Visits of
// a time when the clock was not set have the age of their neighbours by seq. `picture_bytes`: of all files now.
[[nodiscard]] Result<RetentionResult> apply_retention(VisitDatabase& database, const PictureFiles& files,
                                                      const RetentionRule& rule, std::optional<WallTime> now,
                                                      std::uint64_t picture_bytes);

}  // namespace kinglet::store
