// SPDX-License-Identifier: Apache-2.0
// Why: what the model said of one frame. Fixed size, so that making and publishing one allocates nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "camera/preprocess/preprocess.h"
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
  SteadyClock::duration wait{};  // in the mailbox
  SteadyClock::duration preprocess{};
  SteadyClock::duration inference{};
  SteadyClock::duration postprocess{};
};

// The source of what was drawn by kinglet itself, in predictions and visits: never a camera's name.
inline constexpr std::string_view kDrawnSource = "demo";

struct Prediction {
  Ulid id;
  std::uint64_t seq = 0;  // rises by one with each prediction of this process
  WallTime at{};          // when the frame was taken
  bool clock_synced = false;
  std::uint64_t frame_seq = 0;
  bool drawn = false;           // see kDrawnSource
  SteadyClock::duration age{};  // from exposure to answer
  Answer answer;
  camera::CropRect crop;
  StageTimes timing;
  std::optional<Ulid> visit;   // the open visit that it agrees with
  bool best_of_visit = false;  // the best look at that visitor so far
  std::uint32_t model = 0;     // its number on the ModelBoard
};

}  // namespace kinglet::daemon
