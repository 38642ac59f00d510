// SPDX-License-Identifier: Apache-2.0
// Why: who has which buffer, and which frame the daemon gets: the newest. No libcamera and no clock of its own here.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "camera/libcamera/protocol.h"
#include "engine/base/clock.h"

namespace kinglet::camera {

// At most one completed frame waits for the daemon; a newer one takes its place. One buffer always stays with the
// camera. With an interval, frames that come too early are put aside until the next one is due, because not every
// camera keeps the rate it was asked for. Thread-bound.
class Desk {
 public:
  struct Actions {
    std::function<void(const protocol::FrameReady&)> send;  // to the daemon: a lease begins
    std::function<void(std::uint32_t)> queue;               // to the camera
  };

  // All buffers are with the camera. `interval` zero: the camera's own pace.
  Desk(std::uint32_t buffer_count, std::chrono::nanoseconds interval, Actions actions);

  // The camera finished a buffer. `lost`: frames that the camera itself could not store before this one.
  void completed(protocol::FrameReady frame, std::uint64_t lost, SteadyTime now);
  // The camera finished a buffer without a usable picture; `counts`: as a frame that was lost.
  void failed(std::uint32_t index, bool counts);
  void wanted();
  // False: the daemon gave back what it does not have.
  [[nodiscard]] bool returned(std::uint32_t index);
  // When tick() wants to be called; nothing while nothing is put aside.
  [[nodiscard]] std::optional<SteadyTime> next_tick() const;
  void tick(SteadyTime now);

 private:
  enum class Place { kCamera, kWaiting, kDaemon, kAside };

  void to_camera(std::uint32_t index);
  void send_if_wanted();
  [[nodiscard]] std::size_t count(Place place) const;
  [[nodiscard]] SteadyTime earliest() const { return due_ - interval_ / 4; }  // tolerates jitter

  std::vector<Place> places_;
  const std::chrono::nanoseconds interval_;
  Actions actions_;
  SteadyTime due_{};
  std::optional<protocol::FrameReady> waiting_;
  bool wanted_ = false;
  std::uint64_t sequence_ = 0;
};

}  // namespace kinglet::camera
