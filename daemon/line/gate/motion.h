// SPDX-License-Identifier: Apache-2.0
// Why: an empty feeder need not be classified ten times a second. Has something moved, and where?
#pragma once

#include <array>
#include <optional>
#include <span>

#include "camera/preprocess/cell_grid.h"
#include "daemon/line/gate/background.h"
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

// Each cell has a background (its mean brightness and colours, which follow while nothing moves there) and a usual
// flutter. A cell moves when one of them is further from its background than that. Colour is measured in shares of the
// brightness, so that a shadow has none of its own. What all cells have in common is taken away first, so that clouds,
// dusk and a camera's white balance move nothing; leaves in the wind are their cells' flutter; two cells count when one
// of them moved in the frame before, too, which drops of rain do not, and a single one is too small for a bird.
// Thread-bound; allocates nothing.
class MotionDetector {
 public:
  explicit MotionDetector(const std::optional<Area>& region);

  // The first frame is the background. `now` never goes back. What moves within one of `kept` (shares of the picture)
  // does not become background, however long it stays.
  [[nodiscard]] Motion update(const camera::Cells& cells, SteadyTime now, std::span<const Area> kept = {});

 private:
  struct Cluster {
    std::size_t size = 0;
    bool seen_before = false;
    int left = 0, top = 0, right = 0, bottom = 0;  // cells, both ends in
  };

  void measure(const camera::Cells& cells);
  void begin(SteadyTime now);
  std::size_t mark();
  void follow(double seconds, bool learning, std::span<const Area> kept);
  void find_clusters(Motion& motion) const;
  [[nodiscard]] Cluster grow(std::size_t seed, CellMarks& left_over) const;

  CellMarks looked_at_{};
  std::size_t looked_at_count_ = 0;
  CellValues luma_{};  // of the newest frame
  CellValues blue_{};
  CellValues red_{};
  CellValues levels_{};  // how many levels of 256 one of blue_ or red_ is
  Background usual_luma_;
  Background usual_blue_;
  Background usual_red_;
  CellMarks moving_{};
  CellMarks moved_before_{};
  CellValues moving_for_{};  // seconds without a pause
  std::optional<SteadyTime> last_;
  SteadyTime begun_{};  // the scene
};

}  // namespace kinglet::daemon
