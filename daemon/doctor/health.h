// SPDX-License-Identifier: Apache-2.0
// Why: the one judgement of "is it well" that /livez, /readyz, the watchdog and the page share.
#pragma once

#include <string>
#include <vector>

#include "daemon/capture/capture.h"
#include "daemon/doctor/check_status.h"
#include "engine/base/clock.h"
#include "store/options.h"

namespace kinglet::daemon {

struct Check {
  std::string name;
  CheckStatus status = CheckStatus::kPass;
  std::string detail;  // empty when it passes
  WallTime since{};
};

// A thread that did not come round by when it said.
struct LateThread {
  std::string name;
  SteadyTime last_sign{};
  bool waits_for_disk = false;
};

struct CameraVitals {
  std::string name = "camera";
  CameraStatus status;
  std::optional<SteadyTime> unanswered_since;  // a frame waits to be answered, or looked away from on purpose
};

struct Vitals {
  SteadyTime now{};
  std::vector<CameraVitals> cameras = std::vector<CameraVitals>(1);  // the first one first; one at least
  bool paused = false;                                               // by somebody, all of them
  SteadyTime answer_heartbeat{};
  std::vector<LateThread> late;  // of all others
  bool model_loaded = false;
  std::string model_problem;  // why not
  WallTime model_since{};
  std::optional<std::string> detector_problem;  // empty: it works; nothing: none is wished
  store::StoreStatus store;
  std::vector<Check> integrations;  // how it stands with other programs
  bool restore_waits = false;       // the next start puts a backup in the place of what is here
};

// "capture" and "answer", and what is late. Of several cameras each has a check, "capture_NAME" and "camera_NAME"
// behind the first one; what one of them is, is a failure only as long as frames come from no other.
[[nodiscard]] std::vector<Check> liveness(const Vitals& vitals);
[[nodiscard]] std::vector<Check> readiness(const Vitals& vitals);
[[nodiscard]] CheckStatus worst(const std::vector<Check>& checks);
// "camera" of the only one, else with its name: "camera garden".
[[nodiscard]] std::string spoken_name(const Vitals& vitals, const CameraVitals& camera);
// Do frames come?
[[nodiscard]] bool gives_frames(CameraState state);

// What the watchdog asks: do frames really move through the pipeline, as soon as they can (daemon/capture/patience.h),
// or is it really known why they cannot? Known: the camera is absent, failed (with a start tried again and again), or
// its next start is waited for. A stall is not known: it is what the watchdog is for. Without a model, arriving frames
// are enough. Of several cameras one may be silent as long as frames of another move: a restart would cost those. Every
// other thread has to come round as well; that one hangs with a disk, a broker or a client is no
// reason: a restart cures none of these, and would cost the visits in memory.
[[nodiscard]] bool frames_move_or_are_known_absent(const Vitals& vitals);

}  // namespace kinglet::daemon
