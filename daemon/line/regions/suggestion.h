// SPDX-License-Identifier: Apache-2.0
// Why: after some hours the frames have shown where birds come: one part of the picture that an owner may have looked
// at instead of all of it (look.propose = "fixed"). It is only told; nothing here changes what is looked at.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "camera/preprocess/cell_grid.h"
#include "daemon/line/regions/tracks.h"
#include "engine/base/area.h"
#include "engine/base/clock.h"

namespace kinglet::daemon {

struct Suggestion {
  Area box;                  // holds nine tenths of it, with a margin; of whole cells of the grid
  std::uint32_t tracks = 0;  // that it rests on
  WallTime since{};          // the first of them
};

// A map of where tracks of somebody were, second by second, and, for less, where something moved for as long as a
// visitor does. It fades over hours. No track counts for more than a while, so that one bird that sleeps there is not
// everything. Thread-bound; allocates nothing.
class RegionSuggestion {
 public:
  // `limits`: gate.region; nothing outside of it is suggested.
  explicit RegionSuggestion(const std::optional<Area>& limits) : limits_(limits) {}
  void set_limits(const std::optional<Area>& limits);
  // Another camera, or another scene.
  void clear();

  // A look at a track, which is where its box is. Places that are looked at in any case say nothing.
  void note(const Track& track, SteadyTime now, WallTime wall);
  // Nothing: too little was seen, or it was seen everywhere.
  [[nodiscard]] const std::optional<Suggestion>& current() const { return current_; }

 private:
  struct Credit {
    visits::Ulid track;
    SteadyTime last{};
    double seconds = 0;
    bool counted = false;
  };
  [[nodiscard]] Credit& credit_of(const visits::Ulid& track, SteadyTime now);
  void fade(SteadyTime now);
  void add(const Area& box, double seconds);
  void suggest();

  std::optional<Area> limits_;
  std::array<double, camera::kGridCells> cells_{};  // seconds, row by row
  std::array<Credit, Tracks::kMost> credits_{};
  std::uint32_t tracks_ = 0;
  WallTime since_{};
  SteadyTime faded_{};
  SteadyTime suggested_{};
  std::optional<Suggestion> current_;
};

}  // namespace kinglet::daemon
