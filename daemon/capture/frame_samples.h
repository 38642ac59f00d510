// SPDX-License-Identifier: Apache-2.0
// Why: pictures as the model really sees them at this feeder, for calibration: one now and then, as JPEG, in memory
// only and bounded. They cost the answer thread a copy, and a thread of low priority the rest.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "camera/frame/frame.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

struct SampleLimits {
  std::size_t count = 64;        // 0: none are kept
  std::size_t bytes = 8U << 20;  // of JPEG
  std::chrono::milliseconds interval{5'000};
  int quality = 92;
};

struct FrameSample {
  std::string jpeg;
  camera::FrameInfo info;
};

// Owns the thread "samples". Thread-safe; offer() belongs to the answer thread.
class FrameSamples {
 public:
  FrameSamples(SampleLimits limits, LogSink log);
  ~FrameSamples() { stop(); }
  void stop();

  // A frame that the model has looked at. Allocates nothing from one frame to the next of the same size.
  void offer(const camera::Frame& frame, SteadyTime now);
  // Oldest first, at most `count` of the newest.
  [[nodiscard]] std::vector<std::shared_ptr<const FrameSample>> newest(std::size_t count) const;

 private:
  struct Copy {
    std::vector<std::byte> bytes;
    camera::FrameView view;
    camera::FrameInfo info;
    bool valid = false;
  };
  void work(const std::stop_token& stop);
  void keep(const Copy& copy);

  const SampleLimits limits_;
  const LogSink log_;

  Copy filling_;  // of the answer thread
  SteadyTime next_{};
  Copy reading_;  // of the thread "samples"
  std::string last_error_;

  mutable Mutex mutex_;
  Condition changed_;
  Copy ready_ KINGLET_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<const FrameSample>> samples_ KINGLET_GUARDED_BY(mutex_);
  std::size_t bytes_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::daemon
