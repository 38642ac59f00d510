// SPDX-License-Identifier: Apache-2.0
// Why: what the model said of one frame. Fixed size, so that making and publishing one allocates nothing.
// answer/packed_prediction.cpp names each member, too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "camera/preprocess/preprocess.h"
#include "daemon/line/regions/refine.h"
#include "daemon/line/regions/regions.h"
#include "engine/base/clock.h"
#include "visits/decide.h"
#include "visits/ids.h"

namespace kinglet::daemon {

using visits::Answer;
using visits::kMaxTop;
using visits::kOutcomeCount;
using visits::Outcome;
using visits::Scored;
using visits::Ulid;

struct StageTimes {
  SteadyClock::duration wait{};  // in the mailbox, and for other cameras between two parts
  SteadyClock::duration preprocess{};
  SteadyClock::duration inference{};
  SteadyClock::duration postprocess{};

  bool operator==(const StageTimes&) const = default;
};

// The source of what was drawn by kinglet itself, in predictions and visits: never a camera's name.
inline constexpr std::string_view kDrawnSource = "demo";

// What the model said of one region, as far as its track's looks go.
inline constexpr std::size_t kRegionTop = 3;
struct RegionLook {
  Ulid track;     // what is followed there
  Area box;       // as the Region's
  CropRect crop;  // what the model saw, in pixels of the full frame
  ProposedBy proposed_by = ProposedBy::kWhole;
  Outcome outcome = Outcome::kNonFinite;
  std::array<Scored, kRegionTop> entries{};
  std::size_t count = 0;
  std::optional<Opinion> opinion;  // of a detector; nothing: it was not asked
  std::optional<Ulid> visit;       // the open visit that it agrees with
  bool best_of_visit = false;      // the best look at that visitor so far
  bool best_unnamed = false;       // the best look so far at a track that nobody has named

  // Best first.
  [[nodiscard]] std::span<const Scored> top() const { return std::span(entries).first(count); }
  bool operator==(const RegionLook&) const = default;
};

// What a detector did for a frame.
struct DetectorWork {
  std::uint32_t looks = 0;
  std::uint32_t left_out = 0;  // looks that there was no time for
  std::array<std::uint32_t, kBeingCount> found{};
  Refined refined;
  SteadyClock::duration time{};

  bool operator==(const DetectorWork&) const = default;
};

struct Prediction {
  Ulid id;
  std::uint64_t seq = 0;  // rises by one with each prediction of this process
  WallTime at{};          // when the frame was taken
  bool clock_synced = false;
  std::uint64_t frame_seq = 0;
  std::uint32_t camera = 0;     // its place among the cameras
  bool drawn = false;           // see kDrawnSource
  SteadyClock::duration age{};  // from exposure to answer
  Answer answer;                // to all looks at the best region's track, as the crop
  CropRect crop;
  LeftOutCounts left_out{};  // regions that it did not see
  DetectorWork detector;
  StageTimes timing;          // of all regions together, without the detector's
  std::optional<Ulid> visit;  // that of the best region
  std::uint32_t model = 0;    // its number on the ModelBoard
  std::size_t region_count = 0;
  std::array<RegionLook, kMaxRegions> regions{};  // those that the model saw, best first

  [[nodiscard]] std::span<const RegionLook> looks() const { return std::span(regions).first(region_count); }
  bool operator==(const Prediction&) const = default;
};

}  // namespace kinglet::daemon
