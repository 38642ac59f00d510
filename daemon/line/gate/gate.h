// SPDX-License-Identifier: Apache-2.0
// Why: which frames are looked at. A frame that is not is counted with the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "camera/frame/frame.h"
#include "camera/preprocess/cell_grid.h"
#include "daemon/line/gate/motion.h"
#include "daemon/line/gate/schedule.h"
#include "engine/base/area.h"
#include "engine/base/clock.h"

namespace kinglet::daemon {

enum class SkipReason : std::uint8_t { kNoMotion, kRate, kSchedule, kPaused, kSettling };  // looked away on purpose
inline constexpr std::size_t kSkipReasonCount = 5;
[[nodiscard]] std::string_view to_string(SkipReason reason);

struct GateOptions {
  double max_fps = 10;
  bool motion = false;                                   // only where something moves, with the two exceptions below
  SteadyClock::duration hold = std::chrono::seconds(5);  // after the last motion: birds sit still
  SteadyClock::duration look_every = std::chrono::seconds(2);  // without any: what was missed, and that all works
  std::optional<Area> region;                                  // motion elsewhere does not count
  Schedule schedule;
};

// At most max_fps frames a second in the long run; a source whose frames jitter around that pace loses none. Then the
// schedule, then motion. Thread-bound.
class Gate {
 public:
  explicit Gate(const GateOptions& options);

  struct Moment {
    SteadyTime now{};
    WallTime wall{};
    bool clock_synced = false;      // without a set clock nobody knows whether it is night
    bool visit_open = false;        // a visitor is followed whether it moves or not
    bool where_matters = false;     // somebody chooses by it which part of the frame is looked at
    std::span<const Area> birds{};  // where they sit: they are no background
  };
  // Who decodes a JPEG, and to how many pixels at least when it is looked at in any case: it is decoded once then.
  struct Decoding {
    camera::MjpegPlanes* decoder = nullptr;  // the gate's own
    int width = 0;
    int height = 0;
  };
  // Nothing: look at it.
  [[nodiscard]] std::optional<SkipReason> decide(const camera::Frame& frame, const Moment& moment,
                                                 const Decoding& decoding);
  [[nodiscard]] std::optional<SkipReason> decide(const camera::Frame& frame, const Moment& moment) {
    return decide(frame, moment, {});
  }

  // Of max_fps, above 0 to 1: less on a hot board.
  void set_pace(double share);
  // Between two frames that are looked at, at least.
  [[nodiscard]] SteadyClock::duration interval() const { return interval_; }
  // Of the newest frame that came as far; nothing where nobody asks for it.
  [[nodiscard]] const std::optional<Motion>& motion() const { return motion_; }

 private:
  [[nodiscard]] bool is_due(SteadyTime now);
  [[nodiscard]] bool is_worth_a_look(const camera::Frame& frame, const Moment& moment, const Decoding& decoding);
  [[nodiscard]] Result<void> measure(const camera::FrameView& view, const Decoding& decoding, bool is_looked_at);

  GateOptions options_;
  SteadyClock::duration interval_;
  SteadyTime due_{};
  camera::CellGrid grid_;
  MotionDetector detector_;
  std::optional<Motion> motion_;
  SteadyTime open_until_{};
  SteadyTime next_look_{};
};

}  // namespace kinglet::daemon
