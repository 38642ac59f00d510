// SPDX-License-Identifier: Apache-2.0
// Why: a source that fails on command, so that the supervisor is taken through each failure without waiting for one.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "camera/source/source.h"

namespace kinglet::daemon {

// What all sources of one test do; changed by the test while they run.
struct SourceScript {
  enum class Next { kFrames, kSilence, kLost, kBroken, kEnd };
  std::atomic<Next> next{Next::kFrames};
  std::atomic<bool> start_fails{false};
  std::atomic<bool> start_hangs{false};  // until it is called off
  std::atomic<bool> settles{false};
  std::atomic<bool> stills{false};
  std::atomic<bool> works_unwanted{false};
  std::atomic<int> pause_ms{0};  // that it says of itself
  std::atomic<int> starts{0};
  std::atomic<int> stops{0};
  std::atomic<int> leases_out{0};
  std::atomic<std::int64_t> wanted_every_ms{0};  // that it was told
};

class ScriptedSource final : public camera::FrameSource {
 public:
  explicit ScriptedSource(SourceScript& script) : script_(script), pixels_(8 * 8 * 3, std::byte{128}) {}

  Result<void> start() override {
    ++script_.starts;
    stopped_ = false;
    script_.wanted_every_ms = 0;
    while (script_.start_hangs && !stopped_) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (script_.start_fails) return fail(ErrorCode::kUnavailable, "the camera is unplugged", "test", "plug it in");
    return {};
  }

  Result<std::variant<camera::Frame, camera::NoFrame>> next(SteadyTime deadline) override {
    using Next = SourceScript::Next;
    switch (script_.next.load()) {
      case Next::kFrames:
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return frame();
      case Next::kSilence:
        std::this_thread::sleep_until(std::min(deadline, SteadyClock::now() + std::chrono::milliseconds(5)));
        return camera::NoFrame{camera::NoFrame::Reason::kDeadline};
      case Next::kLost:
        return fail(ErrorCode::kUnavailable, "the device is gone");
      case Next::kBroken:
        return fail(ErrorCode::kBadData, "a truncated frame");
      case Next::kEnd:
        break;
    }
    return camera::NoFrame{camera::NoFrame::Reason::kEnd};
  }

  void stop() override {
    if (!stopped_.exchange(true)) ++script_.stops;
  }
  int depth() const override { return 2; }
  std::string description() const override { return "a scripted source"; }
  std::uint64_t dropped_count() const override { return 0; }
  bool settles() const override { return script_.settles; }
  bool works_unwanted() const override { return script_.works_unwanted; }
  SteadyClock::duration longest_pause() const override { return std::chrono::milliseconds(script_.pause_ms); }

  void want_every(SteadyClock::duration pause) override {
    script_.wanted_every_ms = std::chrono::duration_cast<std::chrono::milliseconds>(pause).count();
  }

 private:
  camera::Frame frame() {
    camera::FrameView view{.format = camera::PixelFormat::kRgb888, .width = 8, .height = 8};
    view.planes[0] = {pixels_, 24};
    view.plane_count = 1;
    ++script_.leases_out;
    return camera::Frame(view, {sequence_++, SteadyClock::now(), std::chrono::system_clock::now(), script_.stills},
                         [&out = script_.leases_out] { --out; });
  }

  SourceScript& script_;
  std::vector<std::byte> pixels_;
  std::uint64_t sequence_ = 0;
  std::atomic<bool> stopped_{false};
};

}  // namespace kinglet::daemon
