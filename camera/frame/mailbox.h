// SPDX-License-Identifier: Apache-2.0
// Why: the border between capture and answer: depth one, the newest frame wins, every loss is counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "camera/frame/frame.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

// Thread-safe. One thread puts, one takes.
class Mailbox {
 public:
  // Replaces a waiting frame, whose lease ends outside the lock; counts it as dropped.
  void put(Frame frame);
  // The newest frame not taken yet; nothing when the deadline passes or close() was called.
  [[nodiscard]] std::optional<Frame> take(SteadyTime deadline);
  // Wakes the taker for good; the waiting frame is released. open() makes it usable again.
  void close();
  void open();
  // Wakes a waiting taker once, without a frame (there is other work).
  void nudge();

  [[nodiscard]] std::uint64_t dropped_count() const;

  // What the taker found, for the one who puts: a camera whose frames nobody can read gives as little as none.
  struct Unreadable {
    SteadyTime since;
    std::uint64_t frames = 0;  // in a row
    std::string why;           // of the newest
  };
  void note_readable();
  void note_unreadable(std::string why, SteadyTime now);
  // The time is counted from `now` on; what was unreadable stays so until it is seen to be readable.
  void count_anew(SteadyTime now);
  [[nodiscard]] std::optional<Unreadable> unreadable() const;

 private:
  mutable Mutex mutex_;
  Condition ready_;
  std::optional<Frame> waiting_ KINGLET_GUARDED_BY(mutex_);
  bool closed_ KINGLET_GUARDED_BY(mutex_) = false;
  bool nudged_ KINGLET_GUARDED_BY(mutex_) = false;
  std::uint64_t dropped_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::optional<Unreadable> unreadable_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::camera
