// SPDX-License-Identifier: Apache-2.0
// Why: what each cell of a picture usually looks like, in one thing that is measured of it (its brightness, one of its
// colours), and how much that flutters. Not in here: which cells move.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "camera/preprocess/cell_grid.h"

namespace kinglet::daemon {

using CellValues = std::array<float, camera::kGridCells>;
using CellMarks = std::array<bool, camera::kGridCells>;

// Thread-bound; allocates nothing.
class Background {
 public:
  // These values are the scene; they flutter by so much until more is known.
  void begin(const CellValues& values, float flutter);
  // How far they are from the background, without what all cells have in common: a difference of brightnesses, a factor
  // of colours.
  enum class Common : std::uint8_t { kDifference, kFactor };
  void compare(const CellValues& values, Common common);
  // By more than `least`, and by more than it flutters?
  [[nodiscard]] bool differs(std::size_t cell, float least) const {
    return std::abs(changes_[cell]) > std::max(least, kTimesUsual * flutters_[cell]);
  }
  // Follows values, but not in the cells that are held.
  void follow(const CellValues& values, double seconds, const CellMarks& held);
  [[nodiscard]] float operator[](std::size_t cell) const { return means_[cell]; }

 private:
  static constexpr float kTimesUsual = 3.5F;

  CellValues means_{};
  CellValues changes_{};
  CellValues recent_{};    // as the mean, but soon and held nowhere
  CellValues flutters_{};  // from recent: what sits still adds nothing to it
};

}  // namespace kinglet::daemon
