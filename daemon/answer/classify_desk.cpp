// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/classify_desk.h"

#include <algorithm>

#include "engine/base/check.h"

namespace kinglet::daemon {

Result<ClassifyDesk::Place> ClassifyDesk::reserve() {
  MutexLock lock(mutex_);
  if (closed_) return fail(ErrorCode::kUnavailable, "the daemon is shutting down");
  if (taken_places_ >= places_) return fail(ErrorCode::kBusy, "all places for posted pictures are taken");
  ++taken_places_;
  return Place(this);
}

void ClassifyDesk::give_back() {
  MutexLock lock(mutex_);
  --taken_places_;
}

void ClassifyDesk::begin(Stage& stage) {
  MutexLock lock(mutex_);
  while (stage.taken) stage_ended_.wait(mutex_);
  stage.taken = true;
}

void ClassifyDesk::end(Stage& stage) {
  {
    MutexLock lock(mutex_);
    stage.taken = false;
  }
  stage_ended_.notify_all();
}

void ClassifyDesk::Turn::decoded(std::size_t bytes) {
  constexpr std::size_t kSmall = std::size_t{8} << 20;
  if (bytes > kSmall) return;
  desk_.begin(desk_.answering_);
  answers_ = true;
  desk_.end(desk_.decoding_);
}

std::vector<std::byte> ClassifyDesk::Turn::take_room() {
  MutexLock lock(desk_.mutex_);
  return std::exchange(desk_.room_, {});
}

void ClassifyDesk::Turn::give_room(std::vector<std::byte> room) {
  constexpr std::size_t kKept = std::size_t{2} << 20;
  if (room.capacity() > kKept) return;
  MutexLock lock(desk_.mutex_);
  desk_.room_.swap(room);
}

Result<void> ClassifyDesk::answer(PostedPicture& picture, SteadyTime deadline) {
  {
    MutexLock lock(mutex_);
    waiting_.push_back(&picture);
  }
  wake_();
  MutexLock lock(mutex_);
  for (;;) {
    const auto place = std::ranges::find(waiting_, &picture);
    const bool waits = place != waiting_.end();
    if (!waits && in_work_ != &picture) break;
    if (waits && (closed_ || SteadyClock::now() >= deadline)) {
      waiting_.erase(place);
      return fail(ErrorCode::kUnavailable, "the picture was not answered in time");
    }
    // A picture in work is waited for without a limit: its memory is being read.
    if (waits) {
      answered_.wait_until(mutex_, deadline);
    } else {
      answered_.wait(mutex_);
    }
  }
  if (picture.error) return std::unexpected(*picture.error);
  return {};
}

PostedPicture* ClassifyDesk::take() {
  MutexLock lock(mutex_);
  KINGLET_CHECK(in_work_ == nullptr);
  if (waiting_.empty()) return nullptr;
  in_work_ = waiting_.front();
  waiting_.pop_front();
  return in_work_;
}

bool ClassifyDesk::empty() {
  MutexLock lock(mutex_);
  return waiting_.empty();
}

void ClassifyDesk::done(PostedPicture* picture) {
  {
    MutexLock lock(mutex_);
    KINGLET_CHECK(in_work_ == picture);
    in_work_ = nullptr;
  }
  answered_.notify_all();
}

void ClassifyDesk::close() {
  {
    MutexLock lock(mutex_);
    closed_ = true;
  }
  answered_.notify_all();
}

}  // namespace kinglet::daemon
