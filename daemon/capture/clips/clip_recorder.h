// SPDX-License-Identifier: Apache-2.0
// Why: the seconds before a visit are gone when it is known: the newest frames are kept as JPEGs until then.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "camera/frame/frame.h"
#include "daemon/capture/clips/clip_form.h"
#include "daemon/capture/clips/clip_pictures.h"
#include "daemon/capture/clips/clip_ring.h"
#include "daemon/capture/frame_worker.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"
#include "visits/visit.h"

namespace kinglet::daemon {

struct ClipOptions {
  ClipLimits limits;
  ClipForm form;     // wished; what is 0 there gives way where there is no room (clip_form.h)
  int quality = 70;  // of JPEG
  // How many bytes may a clip have that would be written now? 0: none would be. Asked before each frame.
  std::function<std::uint64_t()> room = [] { return std::numeric_limits<std::uint64_t>::max(); };
  std::string thread = "clips";
};

struct ClipStatus {
  std::size_t bytes = 0;     // in memory
  std::uint64_t frames = 0;  // encoded since the start
  std::uint64_t missed = 0;  // came while the one before was not encoded yet, or could not be
};

// Owns a thread, "clips" unless the options say otherwise. Thread-safe, but for the two that are the capture thread's.
class ClipRecorder {
 public:
  ClipRecorder(ClipOptions options, LogSink log,
               std::shared_ptr<camera::FrameCopies> copies = camera::FrameCopies::make());

  // A frame of the camera; the capture thread's.
  void offer(const camera::FrameView& view, const camera::FrameInfo& info, SteadyTime now);
  // Nothing is looked at from now on, or again: clips of later visits begin no sooner; the capture thread's.
  void cut(SteadyTime now);
  // Something moves, or may move because nobody looks whether it does. While nobody says so a scene is still, and few
  // pictures show it as well as many.
  void moved(SteadyTime now);
  // The visit's first frames have agreed; called as soon as that is known.
  void visit_began(const visits::Visit& visit, SteadyTime now);
  // Frames from the seconds before it and its first ones, oldest first.
  [[nodiscard]] ClipFrames visit_ended(const visits::Visit& visit);

  [[nodiscard]] ClipStatus status() const;
  [[nodiscard]] const Pulse& pulse() const { return worker_.pulse(); }

 private:
  // Of the capture thread.
  void note_pause(SteadyTime now);
  void choose(const camera::FrameView& view, std::uint64_t room, SteadyTime now);
  [[nodiscard]] bool is_due(SteadyTime now);
  void say(int before, int width) const;  // what pictures have here

  [[nodiscard]] Result<void> encode(const camera::FrameCopy& copy);
  void note_bytes(const camera::FrameView& view, const ClipPictures::Made& made);

  const ClipOptions options_;
  const LogSink log_;
  const std::shared_ptr<camera::FrameCopies> copies_;

  // Of the capture thread.
  ClipForm form_;
  bool had_room_ = false;
  std::optional<SteadyTime> offered_;
  SteadyClock::duration pause_{kSmallClip.interval / 2};  // between frames, a mean; at first a guess
  SteadyClock::duration interval_{};                      // between those that are taken
  SteadyTime due_{};
  SteadyTime taken_{};

  // Without the lock: the capture thread waits for nobody.
  std::atomic<int> width_;                      // of form_
  std::atomic<std::uint64_t> frame_bytes_ = 0;  // of a frame as a JPEG of its own size, a mean; 0: not known yet
  std::atomic<SteadyTime> moves_until_{SteadyTime::min()};
  std::atomic<SteadyTime> filmed_until_{SteadyTime::min()};  // the first seconds of a visit that is known

  // Of the thread "clips".
  ClipPictures pictures_;
  int measured_width_ = 0;  // of the frames that frame_bytes_ is of
  double times_ = 0;        // the bytes of a frame of its own size, in those of a small one; 0: the last had its own

  mutable Mutex mutex_;
  ClipRing ring_ KINGLET_GUARDED_BY(mutex_);
  ClipStatus counts_ KINGLET_GUARDED_BY(mutex_);
  FrameWorker worker_;  // last: joined first
};

}  // namespace kinglet::daemon
