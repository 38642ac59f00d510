// SPDX-License-Identifier: Apache-2.0
#include "camera/sources/paced_source.h"

#include <vector>

namespace kinglet::camera {

// The buffers and the stop flag, under one lock. A lease holds the whole by a shared pointer kept in its buffer, so
// that taking and returning one allocates nothing.
class PacedSource::Buffers : public std::enable_shared_from_this<Buffers> {
 public:
  struct Buffer {
    Image image;
    std::shared_ptr<Buffers> keeps_alive;
    bool leased = false;
  };

  void set_running(bool running) {
    const MutexLock lock(mutex_);
    running_ = running;
    changed_.notify_all();
  }

  // A free buffer, when there is one before the deadline.
  Waited take(SteadyTime deadline, Buffer*& taken) {
    const MutexLock lock(mutex_);
    while (true) {
      if (!running_) return Waited::kStopped;
      for (Buffer& buffer : buffers_) {
        if (buffer.leased) continue;
        buffer.leased = true;
        taken = &buffer;
        return Waited::kDone;
      }
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) return Waited::kDeadline;
    }
  }

  // Sleeps until `due`, unless stopped or the deadline comes first.
  Waited wait(SteadyTime due, SteadyTime deadline) {
    const MutexLock lock(mutex_);
    while (true) {
      if (!running_) return Waited::kStopped;
      const SteadyTime now = SteadyClock::now();
      if (now >= due) return Waited::kDone;
      if (now >= deadline) return Waited::kDeadline;
      changed_.wait_until(mutex_, std::min(due, deadline));
    }
  }

  [[nodiscard]] bool running() {
    const MutexLock lock(mutex_);
    return running_;
  }

  void give_back(Buffer& buffer) {
    const std::shared_ptr<Buffers> alive = std::move(buffer.keeps_alive);  // outlives the lock below
    const MutexLock lock(mutex_);
    buffer.leased = false;
    changed_.notify_all();
  }

  Frame lease(Buffer& buffer, const FrameInfo& info) {
    buffer.keeps_alive = shared_from_this();
    return {buffer.image.view(), info, [&buffer] { buffer.keeps_alive->give_back(buffer); }};
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool running_ KINGLET_GUARDED_BY(mutex_) = false;
  std::array<Buffer, kDepth> buffers_;  // `leased` is guarded; a leased buffer's pixels belong to the lease
};

PacedSource::PacedSource(SteadyClock::duration period, Late late)
    : period_(period), late_(late), buffers_(std::make_shared<Buffers>()) {}

Result<void> PacedSource::start() {
  KINGLET_TRY(rewind());
  sequence_ = 0;
  dropped_ = 0;
  due_ = SteadyClock::now();
  buffers_->set_running(true);
  return {};
}

void PacedSource::stop() { buffers_->set_running(false); }

PacedSource::Waited PacedSource::wait_until_due(SteadyTime deadline) {
  const Waited waited = buffers_->wait(due_, deadline);
  if (waited != Waited::kDone || late_ != Late::kSkip || period_ == period_.zero()) return waited;
  const auto missed = static_cast<std::uint64_t>((SteadyClock::now() - due_) / period_);
  sequence_ += missed;
  dropped_ += missed;
  due_ += static_cast<SteadyClock::rep>(missed) * period_;
  return waited;
}

Result<std::variant<Frame, NoFrame>> PacedSource::next(SteadyTime deadline) {
  const auto none = [](Waited waited) {
    return NoFrame{waited == Waited::kStopped ? NoFrame::Reason::kStopped : NoFrame::Reason::kDeadline};
  };
  while (true) {
    if (const Waited waited = wait_until_due(deadline); waited != Waited::kDone) return none(waited);
    Buffers::Buffer* buffer = nullptr;
    if (const Waited waited = buffers_->take(deadline, buffer); waited != Waited::kDone) return none(waited);
    const SteadyTime begun = SteadyClock::now();
    const Result<Drawn> drawn = draw(sequence_, buffer->image);
    if (!drawn || *drawn != Drawn::kFrame || !buffers_->running()) {
      buffers_->give_back(*buffer);
      if (!drawn) return std::unexpected(drawn.error());
      if (*drawn == Drawn::kEnd) return NoFrame{NoFrame::Reason::kEnd};
      if (!buffers_->running()) return none(Waited::kStopped);
      if (SteadyClock::now() >= deadline) return none(Waited::kDeadline);
      continue;
    }
    due_ = late_ == Late::kSkip ? due_ + period_ : begun + period_;
    const FrameInfo info{
        .sequence = sequence_++, .captured_at = begun, .captured_wall = std::chrono::system_clock::now()};
    return buffers_->lease(*buffer, info);
  }
}

}  // namespace kinglet::camera
