// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/mailbox.h"

#include <algorithm>
#include <utility>

namespace kinglet::camera {

void Mailbox::put(Frame frame) {
  std::optional<Frame> old;
  {
    MutexLock lock(mutex_);
    if (closed_) return;
    old.swap(waiting_);
    if (old) ++dropped_;
    waiting_.emplace(std::move(frame));
  }
  bell_->ring();
}

std::optional<Frame> Mailbox::take_now() {
  std::optional<Frame> taken;
  {
    MutexLock lock(mutex_);
    taken.swap(waiting_);
    if (taken) next_look_ = SteadyClock::now() + pace_;
  }
  taken_.notify_one();
  return taken;
}

std::optional<Frame> Mailbox::take(SteadyTime deadline) {
  const auto may_come = [this] {
    MutexLock lock(mutex_);
    return !closed_;
  };
  std::optional<Frame> taken = take_now();
  for (; !taken && may_come() && SteadyClock::now() < deadline; taken = take_now()) bell_->wait(deadline);
  return taken;
}

bool Mailbox::has_frame() const {
  MutexLock lock(mutex_);
  return waiting_.has_value();
}

bool Mailbox::has_room(SteadyTime now) const {
  MutexLock lock(mutex_);
  return !waiting_ && now >= next_look_;
}

void Mailbox::wait_for_room(SteadyTime deadline) {
  MutexLock lock(mutex_);
  for (SteadyTime now = SteadyClock::now(); !closed_ && now < deadline; now = SteadyClock::now()) {
    if (!waiting_ && now >= next_look_) return;
    taken_.wait_until(mutex_, waiting_ ? deadline : std::min(deadline, next_look_));
  }
}

void Mailbox::set_pace(SteadyClock::duration pace) {
  MutexLock lock(mutex_);
  pace_ = pace;
}

void Mailbox::close() {
  std::optional<Frame> old;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    old.swap(waiting_);
  }
  taken_.notify_one();
  bell_->ring();
}

void Mailbox::open() {
  MutexLock lock(mutex_);
  closed_ = false;
}

std::uint64_t Mailbox::dropped_count() const {
  MutexLock lock(mutex_);
  return dropped_;
}

void Mailbox::note_readable() {
  MutexLock lock(mutex_);
  unreadable_.reset();
}

void Mailbox::note_unreadable(std::string why, SteadyTime now) {
  MutexLock lock(mutex_);
  if (!unreadable_) unreadable_ = Unreadable{.since = now, .frames = 0, .why = {}};
  ++unreadable_->frames;
  unreadable_->why = std::move(why);
}

void Mailbox::count_anew(SteadyTime now) {
  MutexLock lock(mutex_);
  if (unreadable_) unreadable_->since = now;
}

std::optional<Mailbox::Unreadable> Mailbox::unreadable() const {
  MutexLock lock(mutex_);
  return unreadable_;
}

}  // namespace kinglet::camera
