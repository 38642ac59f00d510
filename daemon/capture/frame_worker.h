// SPDX-License-Identifier: Apache-2.0
// Why: what becomes of frames beside the line (clips, samples for calibration) costs others a copy now and then, and a
// thread of low priority the rest.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "daemon/capture/frame_relay.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "engine/base/pulse.h"

namespace kinglet::daemon {

// Owns its thread.
class FrameWorker {
 public:
  using Work = std::function<Result<void>(const camera::FrameCopy& copy)>;
  // `name`: of the thread. An error of `work` is logged behind `complaint`, unless it is the one before again: a camera
  // may send the same broken frame for hours. What `work` uses outlives this.
  FrameWorker(std::string name, std::string complaint, LogSink log, Work work);
  ~FrameWorker() { stop(); }
  void stop();

  [[nodiscard]] FrameRelay& frames() { return frames_; }  // for one thread that gives
  [[nodiscard]] const Pulse& pulse() const { return pulse_; }

 private:
  void run();

  Pulse pulse_;  // has the name of the thread
  const std::string complaint_;
  const LogSink log_;
  const Work work_;
  FrameRelay frames_;
  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::daemon
