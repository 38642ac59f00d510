// SPDX-License-Identifier: Apache-2.0
// Why: an empty feeder need not be classified ten times a second. Has something moved, and where?
#pragma once

#include <array>
#include <optional>
#include <span>

#include "camera/preprocess/luma_grid.h"
#include "engine/base/area.h"
#include "engine/base/clock.h"

namespace kinglet::daemon {

// Cells that touch each other and move.
struct MovingCluster {
  Area where;  // around them
  int cells = 0;
};
inline constexpr std::size_t kMaxClusters = 16;

struct Motion {
  bool moving = false;
  bool new_scene = false;  // the whole picture changed at once: a light, a filter, a moved camera
  double share = 0;        // of the cells that are looked at, 0 to 1
  Area where;              // around the largest cluster; the whole picture when nothing moves
  std::array<MovingCluster, kMaxClusters> clusters{};  // the largest first
  std::size_t cluster_count = 0;
  std::size_t clusters_beyond = 0;  // smaller ones for which there was no room

  [[nodiscard]] std::span<const MovingCluster> all() const { return std::span(clusters).first(cluster_count); }
};

// Each cell has a background (its mean, which follows while nothing moves there) and a usual flutter. A cell moves when
// it is further from its background than that. What is subtracted first is what all cells have in common, so that
// clouds and dusk move nothing; leaves in the wind are their cells' flutter; two cells count when one of them moved in
// the frame before, too, which drops of rain do not, and a single one is too small for a bird. Thread-bound; allocates
// nothing.
class MotionDetector {
 public:
  explicit MotionDetector(const std::optional<Area>& region);

  // The first frame is the background. `now` never goes back.
  [[nodiscard]] Motion update(std::span<const float, camera::kGridCells> cells, SteadyTime now);

 private:
  using Cells = std::array<float, camera::kGridCells>;
  using Marks = std::array<bool, camera::kGridCells>;
  struct Cluster {
    std::size_t size = 0;
    bool seen_before = false;
    int left = 0, top = 0, right = 0, bottom = 0;  // cells, both ends in
  };

  void begin(std::span<const float, camera::kGridCells> cells);
  [[nodiscard]] float common_change(std::span<const float, camera::kGridCells> cells) const;
  std::size_t mark(std::span<const float, camera::kGridCells> cells, float common);
  void follow(std::span<const float, camera::kGridCells> cells, double seconds, bool learning);
  void find_clusters(Motion& motion) const;
  [[nodiscard]] Cluster grow(std::size_t seed, Marks& left_over) const;

  Marks looked_at_{};
  std::size_t looked_at_count_ = 0;
  Cells background_{};
  Cells recent_{};     // as the background, but soon
  Cells deviation_{};  // from recent_: what sits still adds nothing to it
  Marks moving_{};
  Cells moving_for_{};  // seconds without a pause
  Marks moved_before_{};
  std::optional<SteadyTime> last_;
  SteadyTime begun_{};  // the scene
};

}  // namespace kinglet::daemon
