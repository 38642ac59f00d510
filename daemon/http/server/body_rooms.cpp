// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/body_rooms.h"

#include <utility>

namespace kinglet::daemon::http {

bool BodyRooms::suits(std::uint64_t length) {
  constexpr std::uint64_t kPicture = 128U << 10;  // less comes from what the process has
  return length >= kPicture && length <= kBytes;
}

std::string BodyRooms::take() {
  std::string room;
  {
    MutexLock lock(mutex_);
    if (!rooms_.empty()) {
      room = std::move(rooms_.back());
      rooms_.pop_back();
    }
  }
  room.clear();
  room.reserve(kBytes);
  return room;
}

bool BodyRooms::keep(std::string room) {
  if (room.capacity() > kBytes) return false;
  MutexLock lock(mutex_);
  if (rooms_.size() >= kMost) return false;
  rooms_.push_back(std::move(room));
  return true;
}

}  // namespace kinglet::daemon::http
