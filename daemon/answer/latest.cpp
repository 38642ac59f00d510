// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/latest.h"

#include <algorithm>
#include <utility>

namespace kinglet::daemon {

LatestPredictions::LatestPredictions(std::size_t kept, std::function<void()> told)
    : told_(std::move(told)), most_(std::max<std::size_t>(kept, 1)) {
  kept_.reserve(most_);
  blocks_.push_back(std::make_unique_for_overwrite<Block>());
}

void LatestPredictions::publish(const Prediction& prediction) {
  std::array<std::byte, kMostPacked> packed;
  const std::size_t size = pack(prediction, packed);
  {
    MutexLock lock(mutex_);
    std::byte* room = make_room(size);
    std::copy_n(packed.begin(), size, room);
    if (kept_.size() < most_) {
      kept_.push_back(room);
    } else {
      kept_[published_ % most_] = room;
    }
    ++published_;
    blocks_[block_]->needed_until = published_ + most_;
  }
  if (told_) told_();
}

std::optional<Prediction> LatestPredictions::get() const {
  MutexLock lock(mutex_);
  if (published_ == 0) return std::nullopt;
  std::optional<Prediction> newest(std::in_place);
  read(published_ - 1, *newest);
  return newest;
}

std::uint64_t LatestPredictions::count() const { return std::min<std::uint64_t>(published_, most_); }

void LatestPredictions::read(std::uint64_t number, Prediction& prediction) const {
  unpack(kept_[number % most_], prediction);
}

std::byte* LatestPredictions::make_room(std::size_t bytes) {
  if (used_ + bytes > sizeof(Block::bytes)) {
    const std::size_t next = (block_ + 1) % blocks_.size();
    // The one that is being published takes the oldest one's place.
    if (blocks_[next]->needed_until <= published_ + 1) {
      block_ = next;
    } else {
      ++block_;
      blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(block_), std::make_unique_for_overwrite<Block>());
    }
    used_ = 0;
  }
  std::byte* room = blocks_[block_]->bytes.data() + used_;
  used_ += bytes;
  return room;
}

}  // namespace kinglet::daemon
