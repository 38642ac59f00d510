// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/gate/motion.h"

#include <algorithm>
#include <cmath>

namespace kinglet::daemon {
namespace {

using camera::kGridCells;
using camera::kGridColumns;
using camera::kGridRows;

// Levels of 256. A cell's mean of some twenty pixels has noise below one level, also at night.
constexpr float kLeastChange = 5;
constexpr float kChangePerBrightness = 0.03F;  // bright cells flicker more
constexpr float kLeastColour = 16;
constexpr float kFlutterAtFirst = 2;
// What is added to a colour, and to the brightness that it is a share of: dark cells have little colour and much noise.
constexpr float kDark = 16;
constexpr double kAllMoves = 0.6;    // share of cells from which it is not a bird
constexpr std::size_t kCluster = 3;  // cells that count at once
constexpr std::size_t kLeast = 2;    // that count when one of them moved in the frame before; a single one is too small
// Seconds. Where something moves the background does not follow, so that nothing is left of a bird that goes; what has
// stayed for so long is part of the scene. A new scene is learnt first, everywhere.
constexpr float kStaysForGood = 60;
constexpr double kLearn = 20;

std::size_t cell_at(int column, int row) {
  return static_cast<std::size_t>(row) * kGridColumns + static_cast<std::size_t>(column);
}

// Those whose middle lies in the area.
template <typename Call>
void for_each_cell(const Area& area, const Call& call) {
  const auto from = [](double edge, int count) {
    return std::clamp(static_cast<int>(std::ceil(edge * count - 0.5)), 0, count);
  };
  const auto until = [](double edge, int count) {
    return std::clamp(static_cast<int>(std::floor(edge * count - 0.5)) + 1, 0, count);
  };
  const int right = until(area.left + area.width, kGridColumns);
  const int bottom = until(area.top + area.height, kGridRows);
  for (int row = from(area.top, kGridRows); row < bottom; ++row) {
    for (int column = from(area.left, kGridColumns); column < right; ++column) call(cell_at(column, row));
  }
}

// At its place among those there are; of the same size the first stays first. Without room the smallest goes.
void insert(const MovingCluster& cluster, Motion& motion) {
  const std::span taken = std::span(motion.clusters).first(motion.cluster_count);
  const auto place =
      std::ranges::find_if(taken, [&](const MovingCluster& other) { return cluster.cells > other.cells; });
  const auto at = static_cast<std::size_t>(place - taken.begin());
  if (motion.cluster_count == kMaxClusters) ++motion.clusters_beyond;
  if (at == kMaxClusters) return;
  motion.cluster_count = std::min(motion.cluster_count + 1, kMaxClusters);
  const auto begin = motion.clusters.begin();
  const auto offset = static_cast<std::ptrdiff_t>(at);
  std::move_backward(begin + offset, begin + static_cast<std::ptrdiff_t>(motion.cluster_count) - 1,
                     begin + static_cast<std::ptrdiff_t>(motion.cluster_count));
  motion.clusters[at] = cluster;
}

}  // namespace

MotionDetector::MotionDetector(const std::optional<Area>& region) {
  for_each_cell(region.value_or(Area{}), [&](std::size_t cell) {
    looked_at_[cell] = true;
    ++looked_at_count_;
  });
}

void MotionDetector::measure(const camera::Cells& cells) {
  luma_ = cells.luma;
  for (std::size_t i = 0; i < kGridCells; ++i) {
    levels_[i] = luma_[i] + kDark;
    blue_[i] = (cells.blue[i] + kDark) / levels_[i];
    red_[i] = (cells.red[i] + kDark) / levels_[i];
  }
}

void MotionDetector::begin(SteadyTime now) {
  usual_luma_.begin(luma_, kFlutterAtFirst);
  usual_blue_.begin(blue_, 0);
  usual_red_.begin(red_, 0);
  moving_.fill(false);
  moving_for_.fill(0);
  begun_ = now;
}

std::size_t MotionDetector::mark() {
  moved_before_ = moving_;
  usual_luma_.compare(luma_, Background::Common::kDifference);
  usual_blue_.compare(blue_, Background::Common::kFactor);
  usual_red_.compare(red_, Background::Common::kFactor);
  std::size_t count = 0;
  for (std::size_t i = 0; i < kGridCells; ++i) {
    const float least_colour = kLeastColour / levels_[i];
    moving_[i] = looked_at_[i] && (usual_luma_.differs(i, kLeastChange + kChangePerBrightness * usual_luma_[i]) ||
                                   usual_blue_.differs(i, least_colour) || usual_red_.differs(i, least_colour));
    count += moving_[i] ? 1 : 0;
  }
  return count;
}

void MotionDetector::follow(double seconds, bool learning, std::span<const Area> kept) {
  CellMarks held;
  for (std::size_t i = 0; i < kGridCells; ++i) {
    moving_for_[i] = moving_[i] ? moving_for_[i] + static_cast<float>(seconds) : 0;
    held[i] = moving_[i] && !learning && moving_for_[i] <= kStaysForGood;
  }
  for (const Area& area : kept) {
    for_each_cell(area, [&](std::size_t cell) { held[cell] = moving_[cell]; });
  }
  usual_luma_.follow(luma_, seconds, held);
  usual_blue_.follow(blue_, seconds, held);
  usual_red_.follow(red_, seconds, held);
}

MotionDetector::Cluster MotionDetector::grow(std::size_t seed, CellMarks& left_over) const {
  const int column = static_cast<int>(seed) % kGridColumns;
  const int row = static_cast<int>(seed) / kGridColumns;
  Cluster cluster{.left = column, .top = row, .right = column, .bottom = row};
  std::array<std::size_t, kGridCells> waiting;
  std::size_t count = 0;
  waiting[count++] = seed;
  left_over[seed] = false;
  while (count > 0) {
    const std::size_t cell = waiting[--count];
    const int x = static_cast<int>(cell) % kGridColumns;
    const int y = static_cast<int>(cell) / kGridColumns;
    ++cluster.size;
    cluster.seen_before |= moved_before_[cell];
    cluster.left = std::min(cluster.left, x);
    cluster.right = std::max(cluster.right, x);
    cluster.top = std::min(cluster.top, y);
    cluster.bottom = std::max(cluster.bottom, y);
    for (int ny = std::max(0, y - 1); ny <= std::min(kGridRows - 1, y + 1); ++ny) {
      for (int nx = std::max(0, x - 1); nx <= std::min(kGridColumns - 1, x + 1); ++nx) {
        const std::size_t neighbour = cell_at(nx, ny);
        if (!left_over[neighbour]) continue;
        left_over[neighbour] = false;
        waiting[count++] = neighbour;
      }
    }
  }
  return cluster;
}

void MotionDetector::find_clusters(Motion& motion) const {
  CellMarks left_over = moving_;
  for (std::size_t i = 0; i < kGridCells; ++i) {
    if (!left_over[i]) continue;
    const Cluster cluster = grow(i, left_over);
    if (cluster.size < kCluster && (cluster.size < kLeast || !cluster.seen_before)) continue;
    insert({.where = {.left = double(cluster.left) / kGridColumns,
                      .top = double(cluster.top) / kGridRows,
                      .width = double(cluster.right - cluster.left + 1) / kGridColumns,
                      .height = double(cluster.bottom - cluster.top + 1) / kGridRows},
            .cells = static_cast<int>(cluster.size)},
           motion);
  }
}

Motion MotionDetector::update(const camera::Cells& cells, SteadyTime now, std::span<const Area> kept) {
  const double seconds = last_ ? std::max(0.0, Seconds(now - *last_).count()) : 0;
  Motion motion;
  measure(cells);
  if (!last_) {
    begin(now);
    motion.new_scene = true;
  } else {
    const std::size_t count = mark();
    motion.share = static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(1, looked_at_count_));
    if (motion.share > kAllMoves) {
      begin(now);
      motion.new_scene = true;
    } else {
      find_clusters(motion);
      motion.moving = motion.cluster_count > 0;
      if (motion.moving) motion.where = motion.clusters[0].where;
    }
    follow(seconds, Seconds(now - begun_).count() < kLearn, kept);
  }
  last_ = now;
  return motion;
}

}  // namespace kinglet::daemon
