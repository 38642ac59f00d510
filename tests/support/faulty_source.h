// SPDX-License-Identifier: Apache-2.0
// Why: a camera that misbehaves on command, around any real source: it stalls, is pulled out, cuts frames short or
// sends metadata that is nonsense.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "camera/source/source.h"
#include "engine/base/mutex.h"

namespace kinglet::testing {

enum class Fault {
  kNone,
  kStall,       // next() gives nothing until its deadline
  kDisconnect,  // next() and start() fail with kUnavailable
  kTruncated,   // the frame's first plane ends in the middle
  kGarbage,     // size, stride and plane count are nonsense
  kJitter,      // frames come now at once, now much later
  kBurst,       // nothing for a while, then some frames at once
  kResize,      // every second frame is the upper left quarter only, and says so
  kLie,         // frames say they are JPEGs
};

// Thread-safe switch that a test keeps while the source belongs to somebody else.
class FaultSwitch {
 public:
  void set(Fault fault) {
    const MutexLock lock(mutex_);
    fault_ = fault;
    changed_.notify_all();
  }
  [[nodiscard]] Fault get() const {
    const MutexLock lock(mutex_);
    return fault_;
  }
  // Waits while the fault is kStall, at most until the deadline or stop.
  void wait_out_stall(SteadyTime deadline) {
    const MutexLock lock(mutex_);
    while (fault_ == Fault::kStall && !stopped_) {
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) return;
    }
  }
  void set_stopped(bool stopped) {
    const MutexLock lock(mutex_);
    stopped_ = stopped;
    changed_.notify_all();
  }
  [[nodiscard]] bool stopped() const {
    const MutexLock lock(mutex_);
    return stopped_;
  }

 private:
  mutable Mutex mutex_;
  Condition changed_;
  Fault fault_ KINGLET_GUARDED_BY(mutex_) = Fault::kNone;
  bool stopped_ KINGLET_GUARDED_BY(mutex_) = true;
};

class FaultySource : public camera::FrameSource {
 public:
  FaultySource(std::unique_ptr<camera::FrameSource> inner, std::shared_ptr<FaultSwitch> faults)
      : inner_(std::move(inner)), faults_(std::move(faults)) {}

  [[nodiscard]] Result<void> start() override {
    if (faults_->get() == Fault::kDisconnect) return lost();
    faults_->set_stopped(false);
    return inner_->start();
  }

  [[nodiscard]] Result<std::variant<camera::Frame, camera::NoFrame>> next(SteadyTime deadline) override {
    using camera::NoFrame;
    faults_->wait_out_stall(deadline);
    wait_as(faults_->get(), deadline);
    if (faults_->stopped()) return NoFrame{NoFrame::Reason::kStopped};
    const Fault fault = faults_->get();
    if (fault == Fault::kStall) return NoFrame{NoFrame::Reason::kDeadline};
    if (fault == Fault::kDisconnect) {
      inner_->stop();
      return lost();
    }
    auto got = inner_->next(deadline);
    if (!got || !std::holds_alternative<camera::Frame>(*got)) return got;
    return spoiled(std::get<camera::Frame>(std::move(*got)), fault);
  }

  void stop() override {
    faults_->set_stopped(true);
    inner_->stop();
  }

  [[nodiscard]] int depth() const override { return inner_->depth(); }
  [[nodiscard]] std::string description() const override { return "faulty " + inner_->description(); }
  [[nodiscard]] std::uint64_t dropped_count() const override { return inner_->dropped_count(); }
  [[nodiscard]] SteadyClock::duration longest_start() const override { return inner_->longest_start(); }
  [[nodiscard]] SteadyClock::duration longest_pause() const override { return inner_->longest_pause(); }
  [[nodiscard]] bool settles() const override { return inner_->settles(); }

 private:
  static std::unexpected<Error> lost() {
    return fail(ErrorCode::kUnavailable, "the camera is gone", "faulty source", "plug it in again");
  }

  // Never longer than the deadline.
  void wait_as(Fault fault, SteadyTime deadline) {
    ++calls_;
    std::chrono::milliseconds pause{0};
    if (fault == Fault::kJitter) pause = std::chrono::milliseconds(calls_ * 7 % 15);
    if (fault == Fault::kBurst && calls_ % 8 == 0) pause = std::chrono::milliseconds(20);
    if (pause.count() > 0) std::this_thread::sleep_until(std::min(deadline, SteadyClock::now() + pause));
  }

  static camera::Frame spoiled(camera::Frame frame, Fault fault) {
    const bool whole = fault == Fault::kNone || fault == Fault::kJitter || fault == Fault::kBurst;
    if (whole || (fault == Fault::kResize && frame.info().sequence % 2 == 0)) return frame;
    camera::FrameView view = frame.view();
    if (fault == Fault::kTruncated) {
      view.planes[0].bytes = view.planes[0].bytes.first(view.planes[0].bytes.size() / 2);
    } else if (fault == Fault::kResize) {
      view.width /= 2;
      view.height /= 2;
    } else if (fault == Fault::kLie) {
      view.format = camera::PixelFormat::kMjpeg;
    } else {
      view.width = std::numeric_limits<int>::max();
      view.height = -7;
      view.planes[0].stride = std::numeric_limits<std::size_t>::max();
      view.plane_count = 3;
    }
    const camera::FrameInfo info = frame.info();
    return {view, info, [kept = std::move(frame)]() mutable { kept = camera::Frame(); }};
  }

  std::unique_ptr<camera::FrameSource> inner_;
  std::shared_ptr<FaultSwitch> faults_;
  int calls_ = 0;
};

}  // namespace kinglet::testing
