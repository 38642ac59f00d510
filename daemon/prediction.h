// SPDX-License-Identifier: Apache-2.0
// Why: what the model said of one frame. Fixed size, so that making and publishing one allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "camera/preprocess/preprocess.h"
#include "daemon/ids.h"
#include "engine/base/clock.h"

namespace kinglet::daemon {

// kAccepted, or why there is no answer.
enum class Outcome : std::uint8_t { kAccepted, kBelowThreshold, kBackground, kAmbiguous, kNonFinite };
inline constexpr std::size_t kOutcomeCount = 5;
[[nodiscard]] std::string_view to_string(Outcome outcome);  // "below_threshold"

struct Scored {
  std::uint32_t index = 0;  // class; its label is Labels[index]
  float score = 0;          // 0 to 1
};

// What predict() says; top is best first and empty for kNonFinite.
inline constexpr std::size_t kMaxTop = 10;
struct Answer {
  Outcome outcome = Outcome::kNonFinite;
  std::array<Scored, kMaxTop> entries{};
  std::size_t count = 0;

  [[nodiscard]] std::span<const Scored> top() const { return {entries.data(), count}; }
};

struct StageTimes {
  SteadyClock::duration wait{};  // in the mailbox
  SteadyClock::duration preprocess{};
  SteadyClock::duration inference{};
  SteadyClock::duration postprocess{};
};

struct Prediction {
  Ulid id;
  std::uint64_t seq = 0;  // rises by one with each prediction of this process
  WallTime at{};          // when the frame was taken
  bool clock_synced = false;
  std::uint64_t frame_seq = 0;
  SteadyClock::duration age{};  // from exposure to answer
  Answer answer;
  camera::CropRect crop;
  StageTimes timing;
};

}  // namespace kinglet::daemon
