// SPDX-License-Identifier: Apache-2.0
#include "store/retention.h"

#include <algorithm>
#include <functional>

namespace kinglet::store {
namespace {

using Kept = VisitDatabase::Kept;
using Which = VisitDatabase::Which;

constexpr int kChunk = 200;
// Below the quota by this share, so that not every new visit starts the work again.
constexpr double kRoom = 0.95;

class Retention {
 public:
  Retention(VisitDatabase& database, const PictureFiles& files, std::uint64_t picture_bytes)
      : database_(database), files_(files), picture_bytes_(picture_bytes) {}

  // Files first: whatever ends the program between the two, no picture outlives its row.
  Result<void> remove_frames(std::span<const Kept> visits) {
    for (const Kept& visit : visits) {
      (void)files_.remove(visit.id, Picture::kFrame);
      (void)files_.remove(visit.id, Picture::kClip);
      freed(visit.pictures.frame.value_or(0) + visit.pictures.clip.value_or(0));
    }
    result_.frames_removed += visits.size();
    return database_.frames_removed(visits);
  }

  Result<void> remove_visits(std::span<const Kept> visits) {
    for (const Kept& visit : visits) {
      for (const Picture kind : {Picture::kCrop, Picture::kFrame, Picture::kClip}) (void)files_.remove(visit.id, kind);
      freed(visit.pictures.total());
    }
    result_.visits_removed += visits.size();
    return database_.prune(visits);
  }

  using Remove = std::function<Result<void>(std::span<const Kept>)>;

  Result<void> by_age(Which which, WallTime before, const Remove& remove) {
    for (const bool reviewed : {false, true}) {
      std::uint64_t after = 0;
      while (true) {
        std::vector<Kept> chunk = KINGLET_TRY(database_.oldest(which, reviewed, after, kChunk));
        if (chunk.empty()) break;
        after = chunk.back().seq;
        const bool any_synced = std::ranges::any_of(chunk, &Kept::clock_synced);
        const auto is_old = [&](const Kept& visit) { return visit.clock_synced && visit.started_at < before; };
        const auto last = std::ranges::find_last_if(chunk, is_old);
        if (last.empty() && any_synced) break;
        chunk.erase(last.empty() ? chunk.begin() : last.begin() + 1, chunk.end());
        std::erase_if(chunk, [&](const Kept& visit) { return visit.clock_synced && visit.started_at >= before; });
        if (!chunk.empty()) KINGLET_TRY(remove(chunk));
      }
    }
    return {};
  }

  Result<void> by_count(std::uint64_t most) {
    std::uint64_t count = KINGLET_TRY(database_.visit_count());
    return while_needed(
        Which::kAll, [&] { return count > most ? count - most : 0; },
        [&](std::span<const Kept> chunk) {
          count -= chunk.size();
          return remove_visits(chunk);
        });
  }

  Result<void> by_bytes(std::uint64_t quota) {
    std::uint64_t used = KINGLET_TRY(database_.used_bytes());
    if (used + picture_bytes_ <= quota) return {};
    const auto goal = static_cast<std::uint64_t>(static_cast<double>(quota) * kRoom);
    // Ten at a time: pictures are large, so that more would overshoot.
    const auto over = [&]() -> std::uint64_t { return used + picture_bytes_ > goal ? 10 : 0; };
    KINGLET_TRY(
        while_needed(Which::kWithFrames, over, [&](std::span<const Kept> chunk) { return remove_frames(chunk); }));
    return while_needed(Which::kAll, over, [&](std::span<const Kept> chunk) -> Result<void> {
      Result<void> removed = remove_visits(chunk);
      const Result<std::uint64_t> now = database_.used_bytes();
      if (now) used = *now;
      return removed;
    });
  }

  [[nodiscard]] const RetentionResult& result() const { return result_; }

 private:
  void freed(std::uint64_t bytes) {
    result_.picture_bytes_removed += bytes;
    picture_bytes_ -= std::min(picture_bytes_, bytes);
  }

  // Removes the oldest, unreviewed before reviewed ones, while `needed` asks for more than none.
  Result<void> while_needed(Which which, const std::function<std::uint64_t()>& needed, const Remove& remove) {
    for (const bool reviewed : {false, true}) {
      while (const std::uint64_t wanted = needed()) {
        const int limit = static_cast<int>(std::min<std::uint64_t>(wanted, kChunk));
        const std::vector<Kept> chunk = KINGLET_TRY(database_.oldest(which, reviewed, 0, limit));
        if (chunk.empty()) break;
        KINGLET_TRY(remove(chunk));
      }
    }
    return {};
  }

  VisitDatabase& database_;
  const PictureFiles& files_;
  std::uint64_t picture_bytes_;
  RetentionResult result_;
};

WallTime earlier(WallTime time, std::chrono::milliseconds by) {
  return time - std::chrono::duration_cast<WallTime::duration>(by);
}

}  // namespace

Result<RetentionResult> apply_retention(VisitDatabase& database, const PictureFiles& files, const RetentionRule& rule,
                                        std::optional<WallTime> now, std::uint64_t picture_bytes) {
  Retention retention(database, files, picture_bytes);
  if (now) {
    const auto remove_frames = [&](std::span<const Kept> visits) { return retention.remove_frames(visits); };
    KINGLET_TRY(retention.by_age(Which::kWithFrames, earlier(*now, rule.keep_frames), remove_frames));
    const auto remove_visits = [&](std::span<const Kept> visits) { return retention.remove_visits(visits); };
    KINGLET_TRY(retention.by_age(Which::kAll, earlier(*now, rule.keep_visits), remove_visits));
    KINGLET_TRY(database.prune_throughput(earlier(*now, rule.keep_throughput)));
  }
  KINGLET_TRY(database.prune_throughput(rule.max_throughput));
  KINGLET_TRY(retention.by_count(rule.max_visits));
  KINGLET_TRY(retention.by_bytes(rule.quota.count));
  return retention.result();
}

}  // namespace kinglet::store
