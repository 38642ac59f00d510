// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/gate/motion.h"

#include <algorithm>
#include <cmath>

namespace kinglet::daemon {
namespace {

using camera::kGridCells;
using camera::kGridColumns;
using camera::kGridRows;

// Brightness levels of 256. A cell's mean of some fifty pixels has noise below one level, also at night.
constexpr float kLeastChange = 5.0F;
constexpr float kChangePerBrightness = 0.03F;  // bright cells flicker more
constexpr float kTimesUsual = 3.5F;
constexpr float kUsualAtFirst = 2.0F;
constexpr double kAllMoves = 0.6;    // share of cells from which it is not a bird
constexpr std::size_t kCluster = 3;  // cells that count at once
constexpr std::size_t kLeast = 2;    // that count when one of them moved in the frame before; a single one is too small
// How soon the background follows (time constants in seconds). Where something moves it does not, so that nothing is
// left of a bird that goes; what has stayed for so long is part of the scene.
constexpr double kFollow = 8;
constexpr float kStaysForGood = 60;
constexpr double kLearn = 20;  // of a new scene, in which it follows everywhere
constexpr double kFollowRecent = 2;
constexpr double kFollowDeviation = 20;

float share_of(double seconds, double time_constant) {
  return static_cast<float>(1 - std::exp(-seconds / time_constant));
}

std::size_t cell_at(int column, int row) {
  return static_cast<std::size_t>(row) * kGridColumns + static_cast<std::size_t>(column);
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
  const Area area = region.value_or(Area{});
  for (int row = 0; row < kGridRows; ++row) {
    for (int column = 0; column < kGridColumns; ++column) {
      const double x = (column + 0.5) / kGridColumns;
      const double y = (row + 0.5) / kGridRows;
      const bool inside = x >= area.left && x <= area.left + area.width && y >= area.top && y <= area.top + area.height;
      looked_at_[cell_at(column, row)] = inside;
      looked_at_count_ += inside ? 1 : 0;
    }
  }
}

void MotionDetector::begin(std::span<const float, kGridCells> cells) {
  std::ranges::copy(cells, background_.begin());
  recent_ = background_;
  deviation_.fill(kUsualAtFirst);
  moving_.fill(false);
  moving_for_.fill(0);
}

float MotionDetector::common_change(std::span<const float, kGridCells> cells) const {
  Cells changes;
  for (std::size_t i = 0; i < kGridCells; ++i) changes[i] = cells[i] - background_[i];
  auto* const middle = changes.data() + kGridCells / 2;
  std::nth_element(changes.data(), middle, changes.data() + kGridCells);
  return *middle;
}

std::size_t MotionDetector::mark(std::span<const float, kGridCells> cells, float common) {
  moved_before_ = moving_;
  std::size_t count = 0;
  for (std::size_t i = 0; i < kGridCells; ++i) {
    const float usual = std::max(kLeastChange + kChangePerBrightness * background_[i], kTimesUsual * deviation_[i]);
    moving_[i] = looked_at_[i] && std::abs(cells[i] - background_[i] - common) > usual;
    count += moving_[i] ? 1 : 0;
  }
  return count;
}

void MotionDetector::follow(std::span<const float, kGridCells> cells, double seconds, bool learning) {
  const float still = share_of(seconds, kFollow);
  const float recent = share_of(seconds, kFollowRecent);
  const float deviation = share_of(seconds, kFollowDeviation);
  for (std::size_t i = 0; i < kGridCells; ++i) {
    const float change = cells[i] - background_[i];
    moving_for_[i] = moving_[i] ? moving_for_[i] + static_cast<float>(seconds) : 0;
    if (learning || !moving_[i] || moving_for_[i] > kStaysForGood) background_[i] += still * change;
    const float flutter = cells[i] - recent_[i];
    recent_[i] += recent * flutter;
    deviation_[i] += deviation * (std::abs(flutter) - deviation_[i]);
  }
}

MotionDetector::Cluster MotionDetector::grow(std::size_t seed, Marks& left_over) const {
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
  Marks left_over = moving_;
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

Motion MotionDetector::update(std::span<const float, kGridCells> cells, SteadyTime now) {
  const double seconds = last_ ? std::max(0.0, Seconds(now - *last_).count()) : 0;
  Motion motion;
  if (!last_) {
    begin(cells);
    begun_ = now;
    motion.new_scene = true;
  } else {
    const float common = common_change(cells);
    const std::size_t count = mark(cells, common);
    motion.share = static_cast<double>(count) / static_cast<double>(std::max<std::size_t>(1, looked_at_count_));
    if (motion.share > kAllMoves) {
      begin(cells);
      begun_ = now;
      motion.new_scene = true;
    } else {
      find_clusters(motion);
      motion.moving = motion.cluster_count > 0;
      if (motion.moving) motion.where = motion.clusters[0].where;
    }
    follow(cells, seconds, Seconds(now - begun_).count() < kLearn);
  }
  last_ = now;
  return motion;
}

}  // namespace kinglet::daemon
