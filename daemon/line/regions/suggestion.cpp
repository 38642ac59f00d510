// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/regions/suggestion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kinglet::daemon {
namespace {

constexpr int kColumns = camera::kGridColumns;
constexpr int kRows = camera::kGridRows;

// Of one track at most, and of one look: after a longer pause nobody knows where it was.
constexpr double kMostOfTrack = 20;
constexpr double kMostOfLook = 1;
// What moves and was not called somebody: as long as a visitor does, and for so much less.
constexpr std::chrono::seconds kShortestMove{2};
constexpr std::chrono::seconds kLongestMove{60};
constexpr double kMoveWorth = 0.2;
// A track counts from so many seconds on.
constexpr double kLeastOfTrack = 0.3;
// Less says nothing yet.
constexpr std::uint32_t kLeastTracks = 10;
constexpr double kLeastSeconds = 10;
constexpr double kHalfLife = 12 * 3600;
constexpr std::chrono::minutes kFadeEvery{1};
constexpr std::chrono::seconds kSuggestEvery{10};
// Of all that was seen, what the box holds; and of the picture, what is not worth suggesting any more.
constexpr double kHeld = 0.9;
constexpr double kTooLarge = 0.6;
// Cells.
constexpr int kMargin = 1;
constexpr int kLeastColumns = 8;
constexpr int kLeastRows = 6;

// Half open.
struct Cells {
  int left = 0, top = 0, right = kColumns, bottom = kRows;

  [[nodiscard]] int count() const { return (right - left) * (bottom - top); }
};

Cells cells_of(const Area& area) {
  const auto begin = [](double share, int count) {
    return std::clamp(static_cast<int>(std::floor(share * count)), 0, count - 1);
  };
  const auto end = [](double share, int count) {
    return std::clamp(static_cast<int>(std::ceil(share * count - 1e-9)), 1, count);
  };
  Cells cells{.left = begin(area.left, kColumns),
              .top = begin(area.top, kRows),
              .right = end(area.left + area.width, kColumns),
              .bottom = end(area.top + area.height, kRows)};
  cells.right = std::max(cells.right, cells.left + 1);
  cells.bottom = std::max(cells.bottom, cells.top + 1);
  return cells;
}

Area area_of(const Cells& cells) {
  return {.left = static_cast<double>(cells.left) / kColumns,
          .top = static_cast<double>(cells.top) / kRows,
          .width = static_cast<double>(cells.right - cells.left) / kColumns,
          .height = static_cast<double>(cells.bottom - cells.top) / kRows};
}

using Map = std::array<double, camera::kGridCells>;

double weight(const Map& map, const Cells& cells) {
  double sum = 0;
  for (int y = cells.top; y < cells.bottom; ++y) {
    const auto* row = map.data() + static_cast<std::ptrdiff_t>(y) * kColumns;
    sum = std::accumulate(row + cells.left, row + cells.right, sum);
  }
  return sum;
}

// Takes away the border with the least on it, as long as enough stays inside.
Cells shrunk(const Map& map, Cells cells, double total) {
  for (;;) {
    const std::array<Cells, 4> inner{Cells{cells.left + 1, cells.top, cells.right, cells.bottom},
                                     Cells{cells.left, cells.top + 1, cells.right, cells.bottom},
                                     Cells{cells.left, cells.top, cells.right - 1, cells.bottom},
                                     Cells{cells.left, cells.top, cells.right, cells.bottom - 1}};
    const Cells* best = nullptr;
    double most = 0;
    for (const Cells& one : inner) {
      if (one.right <= one.left || one.bottom <= one.top) continue;
      const double inside = weight(map, one);
      if (best != nullptr && inside <= most) continue;
      best = &one;
      most = inside;
    }
    if (best == nullptr || most < kHeld * total) return cells;
    cells = *best;
  }
}

// At least so long, inside the limits.
void grow(int& begin, int& end, int least, int low, int high) {
  begin -= kMargin;
  end += kMargin;
  const int missing = std::max(0, least - (end - begin));
  begin -= missing / 2;
  end += missing - missing / 2;
  if (begin < low) end += low - begin;
  if (end > high) begin -= end - high;
  begin = std::max(begin, low);
  end = std::min(end, high);
}

}  // namespace

void RegionSuggestion::set_limits(const std::optional<Area>& limits) {
  limits_ = limits;
  suggest();
}

void RegionSuggestion::clear() { *this = RegionSuggestion(limits_); }

RegionSuggestion::Credit& RegionSuggestion::credit_of(const visits::Ulid& track, SteadyTime now) {
  const auto known = std::ranges::find(credits_, track, &Credit::track);
  if (known != credits_.end()) return *known;
  Credit& oldest = *std::ranges::min_element(credits_, {}, &Credit::last);
  oldest = {.track = track, .last = now};
  return oldest;
}

void RegionSuggestion::fade(SteadyTime now) {
  if (faded_ == SteadyTime{}) faded_ = now;
  if (now - faded_ < kFadeEvery) return;
  const double left = std::exp2(-Seconds(now - faded_).count() / kHalfLife);
  for (double& cell : cells_) cell *= left;
  faded_ = now;
}

void RegionSuggestion::add(const Area& box, double seconds) {
  const Cells cells = cells_of(box);
  for (int y = cells.top; y < cells.bottom; ++y) {
    for (int x = cells.left; x < cells.right; ++x) {
      cells_.at(static_cast<std::size_t>(y) * kColumns + static_cast<std::size_t>(x)) += seconds / cells.count();
    }
  }
}

void RegionSuggestion::note(const Track& track, SteadyTime now, WallTime wall) {
  if (track.by != ProposedBy::kMotion) return;
  fade(now);
  Credit& credit = credit_of(track.id, now);
  const double passed = std::clamp(Seconds(now - credit.last).count(), 0.0, kMostOfLook);
  credit.last = now;
  const SteadyClock::duration age = now - track.begun;
  const bool visits = now == track.moved_at && age >= kShortestMove && age <= kLongestMove;
  const double worth = track.somebody ? 1 : visits ? kMoveWorth : 0;
  const double seconds = std::min(passed * worth, kMostOfTrack - credit.seconds);
  if (seconds <= 0) return;
  credit.seconds += seconds;
  add(track.box, seconds);
  if (tracks_ == 0 && !credit.counted) since_ = wall;
  const bool is_new = !credit.counted && credit.seconds >= kLeastOfTrack;
  if (is_new) {
    credit.counted = true;
    ++tracks_;
  }
  if (!is_new && now - suggested_ < kSuggestEvery) return;
  suggested_ = now;
  suggest();
}

void RegionSuggestion::suggest() {
  current_.reset();
  const Cells limits = limits_ ? cells_of(*limits_) : Cells{};
  const double total = weight(cells_, limits);
  if (tracks_ < kLeastTracks || total < kLeastSeconds) return;
  Cells cells = shrunk(cells_, limits, total);
  grow(cells.left, cells.right, kLeastColumns, limits.left, limits.right);
  grow(cells.top, cells.bottom, kLeastRows, limits.top, limits.bottom);
  if (cells.count() > kTooLarge * limits.count()) return;
  current_ = {.box = area_of(cells), .tracks = tracks_, .since = since_};
}

}  // namespace kinglet::daemon
