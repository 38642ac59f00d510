// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/latest.h"

#include <algorithm>
#include <utility>

namespace kinglet::daemon {

LatestPredictions::LatestPredictions(std::size_t kept, std::function<void()> told)
    : told_(std::move(told)), most_(std::max<std::size_t>(kept, 1)) {
  kept_.reserve(most_);
  blocks_.push_back(std::make_unique<Block>());
}

void LatestPredictions::publish(const Prediction& prediction) {
  {
    MutexLock lock(mutex_);
    RegionLook* room = make_room(prediction.region_count);
    std::ranges::copy(prediction.looks(), room);
    const Kept newest{.head = prediction, .looks = room};
    if (kept_.size() < most_) {
      kept_.push_back(newest);
    } else {
      kept_[published_ % most_] = newest;
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
  const Kept& kept = kept_[number % most_];
  static_cast<PredictionHead&>(prediction) = kept.head;
  std::copy_n(kept.looks, kept.head.region_count, prediction.regions.begin());
}

RegionLook* LatestPredictions::make_room(std::size_t looks) {
  if (used_ + looks > Block::kLooks) {
    const std::size_t next = (block_ + 1) % blocks_.size();
    // The one that is being published takes the oldest one's place.
    if (blocks_[next]->needed_until <= published_ + 1) {
      block_ = next;
    } else {
      ++block_;
      blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(block_), std::make_unique<Block>());
    }
    used_ = 0;
  }
  RegionLook* room = blocks_[block_]->looks.data() + used_;
  used_ += looks;
  return room;
}

}  // namespace kinglet::daemon
