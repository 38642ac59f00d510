// SPDX-License-Identifier: Apache-2.0
// Why: the seconds before a visit are gone when it is known: the newest frames, made small, are kept until then.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "camera/frame/frame.h"
#include "camera/preprocess/preprocess.h"
#include "daemon/capture/clip_ring.h"
#include "daemon/capture/frame_worker.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"
#include "visits/visit.h"

namespace kinglet::daemon {

struct ClipOptions {
  ClipLimits limits;
  std::chrono::milliseconds interval{200};             // between frames
  int width = 640;                                     // larger frames are made smaller; 0: none is
  int quality = 70;                                    // of JPEG
  std::function<bool()> wanted = [] { return true; };  // would a clip be written? Asked before each frame
  std::string thread = "clips";
};

struct ClipStatus {
  std::size_t bytes = 0;     // in memory
  std::uint64_t frames = 0;  // encoded since the start
  std::uint64_t missed = 0;  // came while the one before was not encoded yet, or could not be
};

// Owns a thread, "clips" unless the options say otherwise. Thread-safe.
class ClipRecorder {
 public:
  ClipRecorder(ClipOptions options, LogSink log,
               std::shared_ptr<camera::FrameCopies> copies = camera::FrameCopies::make());

  // A frame of the camera; the capture thread's.
  void offer(const camera::FrameView& view, const camera::FrameInfo& info, SteadyTime now);
  // Nothing is looked at from now on, or again: clips of later visits begin no sooner.
  void cut(SteadyTime now);
  // The visit's first frames have agreed; called as soon as that is known.
  void visit_began(const visits::Visit& visit, SteadyTime now);
  // Frames from the seconds before it and its first ones, oldest first.
  [[nodiscard]] ClipFrames visit_ended(const visits::Visit& visit);

  [[nodiscard]] ClipStatus status() const;
  [[nodiscard]] const Pulse& pulse() const { return worker_.pulse(); }

 private:
  [[nodiscard]] Result<void> encode(const camera::FrameCopy& copy);
  [[nodiscard]] Result<std::string> make_small(const camera::FrameView& view);

  const ClipOptions options_;
  const std::shared_ptr<camera::FrameCopies> copies_;

  // Of the thread "clips".
  camera::Image small_;
  std::optional<camera::Preprocessor> scale_;

  mutable Mutex mutex_;
  ClipRing ring_ KINGLET_GUARDED_BY(mutex_);
  ClipStatus counts_ KINGLET_GUARDED_BY(mutex_);
  FrameWorker worker_;  // last: joined first
};

}  // namespace kinglet::daemon
