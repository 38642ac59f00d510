// SPDX-License-Identifier: Apache-2.0
// Why: pictures as the model really sees them at this feeder, for calibration: one now and then, as JPEG, in memory
// only and bounded.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "camera/frame/frame.h"
#include "daemon/capture/frame_worker.h"
#include "daemon/capture/people/people.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

struct SampleLimits {
  std::size_t count = 64;        // 0: none are kept
  std::size_t bytes = 8U << 20;  // of JPEG
  std::chrono::milliseconds interval{5'000};
  int quality = 92;
  std::string thread = "samples";
};

struct FrameSample {
  std::string jpeg;
  camera::FrameInfo info;
};

// Owns a thread, "samples" unless the limits say otherwise. Thread-safe; offer() belongs to the answer thread.
class FrameSamples {
 public:
  // `people`: who is hidden in what is handed out; may be absent.
  FrameSamples(SampleLimits limits, LogSink log, std::shared_ptr<const People> people = nullptr,
               std::shared_ptr<camera::FrameCopies> copies = camera::FrameCopies::make());
  ~FrameSamples() { stop(); }
  void stop();

  // A frame that the model has looked at.
  void offer(const camera::Frame& frame, SteadyTime now);
  // Oldest first, at most `count` of the newest that may be handed out: not while a look may still find somebody in
  // them.
  [[nodiscard]] std::vector<std::shared_ptr<const FrameSample>> newest(std::size_t count) const;
  [[nodiscard]] const Pulse* pulse() const { return worker_ ? &worker_->pulse() : nullptr; }  // nullptr: no thread

 private:
  [[nodiscard]] Result<void> keep(const camera::FrameCopy& copy);
  [[nodiscard]] bool may_leave(const FrameSample& sample) const;
  [[nodiscard]] std::vector<std::shared_ptr<const FrameSample>> hidden(
      std::span<const std::shared_ptr<const FrameSample>> samples) const;

  const SampleLimits limits_;
  const std::shared_ptr<const People> people_;
  const std::shared_ptr<camera::FrameCopies> copies_;
  mutable Mutex mutex_;
  std::deque<std::shared_ptr<const FrameSample>> samples_ KINGLET_GUARDED_BY(mutex_);
  std::size_t bytes_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::optional<FrameWorker> worker_;  // last: joined first. Absent: nothing is kept
};

}  // namespace kinglet::daemon
