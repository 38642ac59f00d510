// SPDX-License-Identifier: Apache-2.0
// Why: the border between capture and answer: depth one, the newest frame wins, every loss is counted. Who puts
// pictures that are not to be lost waits for room first.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "camera/frame/bell.h"
#include "camera/frame/frame.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

// Thread-safe. One thread puts, one takes.
class Mailbox {
 public:
  // Mailboxes with one taker share its bell, which rings when a frame has come and when one of them closes.
  explicit Mailbox(std::shared_ptr<Bell> bell = std::make_shared<Bell>()) : bell_(std::move(bell)) {}

  // Replaces a waiting frame, whose lease ends outside the lock; counts it as dropped.
  void put(Frame frame);
  // The newest frame not taken yet; nothing where none waits. No waiting.
  [[nodiscard]] std::optional<Frame> take_now();
  // The same; nothing when the deadline passes or close() was called.
  [[nodiscard]] std::optional<Frame> take(SteadyTime deadline);
  [[nodiscard]] bool has_frame() const;
  // Does no frame wait, and would the taker look at one?
  [[nodiscard]] bool has_room(SteadyTime now) const;
  // Until there is room, the deadline passes or close() was called: for who would rather wait than have one replaced,
  // or taken in vain.
  void wait_for_room(SteadyTime deadline);
  // The taker looks at the next frame no sooner than so long after it took one.
  void set_pace(SteadyClock::duration pace);
  // Wakes the taker for good; the waiting frame is released. open() makes it usable again.
  void close();
  void open();
  [[nodiscard]] Bell& bell() const { return *bell_; }

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
  const std::shared_ptr<Bell> bell_;
  mutable Mutex mutex_;
  Condition taken_;
  std::optional<Frame> waiting_ KINGLET_GUARDED_BY(mutex_);
  SteadyClock::duration pace_ KINGLET_GUARDED_BY(mutex_){};
  SteadyTime next_look_ KINGLET_GUARDED_BY(mutex_){};
  bool closed_ KINGLET_GUARDED_BY(mutex_) = false;
  std::uint64_t dropped_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::optional<Unreadable> unreadable_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::camera
