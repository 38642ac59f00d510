// SPDX-License-Identifier: Apache-2.0
// Why: answers that take long (streams, clips, exports) hold a thread of the pool, so their number is bounded, in all
// and for each address, and the other requests are never starved.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "engine/base/mutex.h"

namespace kinglet::daemon::http {

enum class SlotKind : std::uint8_t { kEvents, kPictures };  // kPictures: streams, clips and exports
inline constexpr std::size_t kSlotKinds = 2;

// Thread-safe. Outlives what it gave.
class Slots {
 public:
  using Limits = std::array<std::size_t, kSlotKinds>;
  Slots(Limits most, std::size_t most_per_address) : most_(most), most_per_address_(most_per_address) {}

  // Free again when the last copy is gone. Empty: all are taken, or `address` has its share (503 `too-many-streams`).
  [[nodiscard]] std::shared_ptr<void> take(SlotKind kind, const std::string& address) {
    const auto index = static_cast<std::size_t>(kind);
    MutexLock lock(mutex_);
    if (taken_.at(index) >= most_.at(index)) return nullptr;
    std::size_t& own = by_address_[address].at(index);
    if (own >= most_per_address_) return nullptr;
    ++own;
    ++taken_.at(index);
    return {this, [index, address](Slots* slots) { slots->give_back(index, address); }};
  }
  [[nodiscard]] std::size_t taken(SlotKind kind) const {
    MutexLock lock(mutex_);
    return taken_.at(static_cast<std::size_t>(kind));
  }
  [[nodiscard]] std::size_t most() const { return most_[0] + most_[1]; }
  [[nodiscard]] std::size_t taken() const { return taken(SlotKind::kEvents) + taken(SlotKind::kPictures); }

 private:
  void give_back(std::size_t index, const std::string& address) {
    MutexLock lock(mutex_);
    --taken_.at(index);
    const auto own = by_address_.find(address);
    --own->second.at(index);
    if (own->second == Limits{}) by_address_.erase(own);
  }

  const Limits most_;
  const std::size_t most_per_address_;
  mutable Mutex mutex_;
  Limits taken_ KINGLET_GUARDED_BY(mutex_){};
  std::map<std::string, Limits> by_address_ KINGLET_GUARDED_BY(mutex_);  // only those that have some
};

}  // namespace kinglet::daemon::http
