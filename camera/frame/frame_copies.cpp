// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/frame_copies.h"

#include <algorithm>

#include "camera/frame/frame_copy.h"

namespace kinglet::camera {
namespace {

// So many that nobody has keep their memory, and more of them as long as they were needed not long ago.
constexpr std::ptrdiff_t kSpare = 2;
constexpr std::chrono::seconds kNotLong{10};

}  // namespace

FrameCopies::Share FrameCopies::of(const FrameView& view, const FrameInfo& info, SteadyTime now) {
  Slot* slot = nullptr;
  std::vector<std::byte> too_many;  // given back without the lock
  {
    MutexLock lock(mutex_);
    take_unneeded(now, too_many);
    slot = find(info);
    if (slot != nullptr) {
      ++slot->shares;
      return {shared_from_this(), *slot};
    }
    slot = &free_slot();
    slot->shares = 1;
    slot->filled = false;
  }
  Share share(shared_from_this(), *slot);
  copy_view(view, slot->copy.bytes, slot->copy.view);
  slot->copy.info = info;
  slot->copy.at = now;
  MutexLock lock(mutex_);
  slot->filled = true;
  return share;
}

std::size_t FrameCopies::count() const {
  MutexLock lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      slots_, [](const auto& slot) { return slot->shares > 0 || slot->copy.bytes.capacity() > 0; }));
}

FrameCopies::Slot* FrameCopies::find(const FrameInfo& info) {
  if (info.captured_at == SteadyTime{}) return nullptr;  // nothing says which one it is
  const auto found = std::ranges::find_if(slots_, [&](const auto& slot) {
    return slot->filled && slot->copy.info.sequence == info.sequence && slot->copy.info.captured_at == info.captured_at;
  });
  return found == slots_.end() ? nullptr : found->get();
}

FrameCopies::Slot& FrameCopies::free_slot() {
  Slot* empty = nullptr;
  for (const auto& slot : slots_) {
    if (slot->shares > 0) continue;
    if (!slot->copy.bytes.empty()) return *slot;
    empty = slot.get();
  }
  return empty != nullptr ? *empty : *slots_.emplace_back(std::make_unique<Slot>());
}

void FrameCopies::take(Slot& slot) {
  MutexLock lock(mutex_);
  ++slot.shares;
}

void FrameCopies::let_go(Slot& slot) {
  const SteadyTime now = SteadyClock::now();
  MutexLock lock(mutex_);
  if (--slot.shares == 0) slot.free_since = now;
}

// One at a time: the next frame comes soon. The first ones are used again first, so that of the last nobody has need.
void FrameCopies::take_unneeded(SteadyTime now, std::vector<std::byte>& memory) {
  const auto is_spare = [](const auto& one) { return one->shares == 0 && one->copy.bytes.capacity() > 0; };
  if (std::ranges::count_if(slots_, is_spare) <= kSpare) return;
  const auto last = std::ranges::find_last_if(slots_, is_spare).begin();
  if (now - (*last)->free_since < kNotLong) return;
  (*last)->filled = false;
  (*last)->copy.bytes.swap(memory);
}

}  // namespace kinglet::camera
