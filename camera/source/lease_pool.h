// SPDX-License-Identifier: Apache-2.0
// Why: what sources that fill their own buffers have in common: a few reused ones whose leases come back from any
// thread, and a stop that wakes whoever waits.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "camera/source/source.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

enum class Waited { kDone, kDeadline, kStopped };

// What next() says of a wait that gave nothing.
[[nodiscard]] constexpr NoFrame no_frame(Waited waited) {
  return {waited == Waited::kStopped ? NoFrame::Reason::kStopped : NoFrame::Reason::kDeadline};
}

// What the buffers of one pool hold together, at most; a single one may be larger.
inline constexpr std::size_t kMaxPoolBytes = std::size_t{64} << 20;

// kCount buffers, each a Payload. A lease holds the whole by a shared pointer kept in its buffer, so that taking and
// returning one allocates nothing. Made by std::make_shared; thread-safe.
template <typename Payload, std::size_t kCount>
class LeasePool : public std::enable_shared_from_this<LeasePool<Payload, kCount>> {
  struct Buffer {
    Payload payload{};
    std::shared_ptr<LeasePool> keeps_alive;
    bool leased = false;
  };

 public:
  // A buffer being filled: becomes a Frame, or goes back when destroyed. Move-only, of one thread.
  class Loan {
   public:
    Loan() = default;
    Loan(Loan&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
    Loan& operator=(Loan&& other) noexcept {
      if (this != &other) {
        give_back();
        buffer_ = std::exchange(other.buffer_, nullptr);
      }
      return *this;
    }
    ~Loan() { give_back(); }

    [[nodiscard]] explicit operator bool() const { return buffer_ != nullptr; }
    [[nodiscard]] Payload& operator*() const { return buffer_->payload; }
    [[nodiscard]] Payload* operator->() const { return &buffer_->payload; }

    // `view` shows pixels of the payload, `small` the same ones or others of it.
    [[nodiscard]] Frame into_frame(const FrameView& view, const FrameView& small, const FrameInfo& info) && {
      Buffer* buffer = std::exchange(buffer_, nullptr);
      return {view, small, info, [buffer] { return_buffer(*buffer); }};
    }
    [[nodiscard]] Frame into_frame(const FrameView& view, const FrameInfo& info) && {
      return std::move(*this).into_frame(view, view, info);
    }

   private:
    friend class LeasePool;
    explicit Loan(Buffer* buffer) : buffer_(buffer) {}
    void give_back() {
      if (buffer_ != nullptr) return_buffer(*std::exchange(buffer_, nullptr));
    }

    Buffer* buffer_ = nullptr;
  };

  // Frames are of so many bytes: fewer buffers where they are large, one at least.
  void fit(std::size_t frame_bytes) {
    const MutexLock lock(mutex_);
    limit_ = std::clamp<std::size_t>(kMaxPoolBytes / std::max<std::size_t>(frame_bytes, 1), 1, kCount);
  }
  // How many leases may be out at once.
  [[nodiscard]] int depth() {
    const MutexLock lock(mutex_);
    return static_cast<int>(limit_);
  }

  void set_running(bool running) {
    const MutexLock lock(mutex_);
    running_ = running;
    changed_.notify_all();
  }
  [[nodiscard]] bool running() {
    const MutexLock lock(mutex_);
    return running_;
  }

  // A free buffer into `taken`, which is empty, when there is one before the deadline.
  [[nodiscard]] Waited take(SteadyTime deadline, Loan& taken) {
    const MutexLock lock(mutex_);
    while (true) {
      if (!running_) return Waited::kStopped;
      const auto free = std::ranges::find(buffers_, false, &Buffer::leased);
      const auto leased = static_cast<std::size_t>(std::ranges::count(buffers_, true, &Buffer::leased));
      if (leased < limit_ && free != buffers_.end()) {
        free->leased = true;
        free->keeps_alive = this->shared_from_this();
        taken = Loan(&*free);
        return Waited::kDone;
      }
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) return Waited::kDeadline;
    }
  }

  // Sleeps until `due`, unless stopped or the deadline comes first.
  [[nodiscard]] Waited wait(SteadyTime due, SteadyTime deadline) {
    const MutexLock lock(mutex_);
    while (true) {
      if (!running_) return Waited::kStopped;
      const SteadyTime now = SteadyClock::now();
      if (now >= due) return Waited::kDone;
      if (now >= deadline) return Waited::kDeadline;
      changed_.wait_until(mutex_, std::min(due, deadline));
    }
  }

 private:
  static void return_buffer(Buffer& buffer) {
    const std::shared_ptr<LeasePool> alive = std::move(buffer.keeps_alive);  // outlives the lock below
    const MutexLock lock(alive->mutex_);
    buffer.leased = false;
    alive->changed_.notify_all();
  }

  Mutex mutex_;
  Condition changed_;
  bool running_ KINGLET_GUARDED_BY(mutex_) = false;
  std::size_t limit_ KINGLET_GUARDED_BY(mutex_) = kCount;
  std::array<Buffer, kCount> buffers_;  // `leased` is guarded; a leased buffer's payload belongs to the lease
};

}  // namespace kinglet::camera
