// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/mailbox.h"

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
  ready_.notify_one();
}

std::optional<Frame> Mailbox::take(SteadyTime deadline) {
  MutexLock lock(mutex_);
  while (!waiting_ && !closed_ && !nudged_) {
    if (ready_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
  }
  nudged_ = false;
  std::optional<Frame> taken;
  taken.swap(waiting_);
  return taken;
}

void Mailbox::close() {
  std::optional<Frame> old;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    old.swap(waiting_);
  }
  ready_.notify_all();
}

void Mailbox::open() {
  MutexLock lock(mutex_);
  closed_ = false;
}

void Mailbox::nudge() {
  {
    MutexLock lock(mutex_);
    nudged_ = true;
  }
  ready_.notify_one();
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
