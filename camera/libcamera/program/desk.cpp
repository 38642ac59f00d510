// SPDX-License-Identifier: Apache-2.0
// Why: see desk.h.
#include "camera/libcamera/program/desk.h"

#include <algorithm>
#include <utility>

namespace kinglet::camera {

Desk::Desk(std::uint32_t buffer_count, std::chrono::nanoseconds interval, Actions actions)
    : places_(buffer_count, Place::kCamera), interval_(interval), actions_(std::move(actions)) {}

void Desk::completed(protocol::FrameReady frame, std::uint64_t lost, SteadyTime now) {
  if (interval_.count() > 0) {
    if (now < earliest()) {
      places_[frame.index] = Place::kAside;
      return;
    }
    due_ = now > due_ + interval_ ? now + interval_ : due_ + interval_;
  }
  sequence_ += lost;
  frame.sequence = sequence_++;
  if (waiting_) to_camera(waiting_->index);
  places_[frame.index] = Place::kWaiting;
  waiting_ = frame;
  send_if_wanted();
  if (waiting_ && count(Place::kCamera) == 0 && count(Place::kAside) == 0) {
    // Keeping it would leave the camera without a buffer and the daemon with an old picture.
    waiting_.reset();
    to_camera(frame.index);
  }
}

void Desk::failed(std::uint32_t index, bool counts) {
  if (counts) ++sequence_;
  to_camera(index);
}

void Desk::wanted() {
  wanted_ = true;
  send_if_wanted();
}

bool Desk::returned(std::uint32_t index) {
  if (index >= places_.size() || places_[index] != Place::kDaemon) return false;
  to_camera(index);
  send_if_wanted();
  return true;
}

std::optional<SteadyTime> Desk::next_tick() const {
  if (count(Place::kAside) == 0) return std::nullopt;
  return earliest();
}

void Desk::tick(SteadyTime now) {
  if (now < earliest()) return;
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    if (places_[i] == Place::kAside) to_camera(i);
  }
}

void Desk::to_camera(std::uint32_t index) {
  places_[index] = Place::kCamera;
  actions_.queue(index);
}

void Desk::send_if_wanted() {
  const bool one_stays = count(Place::kDaemon) + 1 < places_.size();
  if (!wanted_ || !waiting_ || !one_stays) return;
  wanted_ = false;
  places_[waiting_->index] = Place::kDaemon;
  actions_.send(*std::exchange(waiting_, std::nullopt));
}

std::size_t Desk::count(Place place) const { return static_cast<std::size_t>(std::ranges::count(places_, place)); }

}  // namespace kinglet::camera
