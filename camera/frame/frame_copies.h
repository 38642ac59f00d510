// SPDX-License-Identifier: Apache-2.0
// Why: who is slow needs a frame for longer than its camera lends it. It is copied once for all of them, and the memory
// is used again when the last has let go of it.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "camera/frame/frame.h"
#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

struct FrameCopy {
  std::vector<std::byte> bytes;
  FrameView view;  // shows `bytes`
  FrameInfo info;
  SteadyTime at{};  // when it was made
};

// Of one camera. Thread-safe.
class FrameCopies : public std::enable_shared_from_this<FrameCopies> {
  struct Slot {
    FrameCopy copy;
    std::size_t shares = 0;
    SteadyTime free_since{};  // without shares
    bool filled = false;
  };
  struct Made {};  // make() alone

 public:
  // A hold on a copy, which nobody changes meanwhile, or on nothing. It may outlive everything else, and go to another
  // thread; one object is of one thread at a time.
  class Share {
   public:
    Share() = default;
    Share(const Share& other) : copies_(other.copies_), slot_(other.slot_) {
      if (slot_ != nullptr) copies_->take(*slot_);
    }
    Share(Share&& other) noexcept : copies_(std::move(other.copies_)), slot_(std::exchange(other.slot_, nullptr)) {}
    Share& operator=(Share other) noexcept {
      std::swap(copies_, other.copies_);
      std::swap(slot_, other.slot_);
      return *this;
    }
    ~Share() {
      if (slot_ != nullptr) copies_->let_go(*slot_);
    }

    [[nodiscard]] explicit operator bool() const { return slot_ != nullptr; }
    [[nodiscard]] const FrameCopy& operator*() const { return slot_->copy; }
    [[nodiscard]] const FrameCopy* operator->() const { return &slot_->copy; }

   private:
    friend class FrameCopies;
    Share(std::shared_ptr<FrameCopies> copies, Slot& slot) : copies_(std::move(copies)), slot_(&slot) {}

    std::shared_ptr<FrameCopies> copies_;
    Slot* slot_ = nullptr;
  };

  explicit FrameCopies(Made /*only*/) {}
  [[nodiscard]] static std::shared_ptr<FrameCopies> make() { return std::make_shared<FrameCopies>(Made{}); }

  // Of this frame; the one that there is, where somebody has it already. Allocates only for more of them at a time, or
  // for larger ones, than in the last ten seconds.
  [[nodiscard]] Share of(const FrameView& view, const FrameInfo& info, SteadyTime now);

  // How many have memory now.
  [[nodiscard]] std::size_t count() const;

 private:
  [[nodiscard]] Slot* find(const FrameInfo& info) KINGLET_REQUIRES(mutex_);
  [[nodiscard]] Slot& free_slot() KINGLET_REQUIRES(mutex_);
  void take_unneeded(SteadyTime now, std::vector<std::byte>& memory) KINGLET_REQUIRES(mutex_);
  void take(Slot& slot);
  void let_go(Slot& slot);

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Slot>> slots_ KINGLET_GUARDED_BY(mutex_);  // `copy` belongs to who fills it, then to all
};

}  // namespace kinglet::camera
