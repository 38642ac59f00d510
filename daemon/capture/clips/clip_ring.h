// SPDX-License-Identifier: Apache-2.0
// Why: the seconds before a visit are only known when it has begun, so the newest small pictures stay in memory,
// bounded in time and bytes; those of a visit's clip stay until it ends.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"

namespace kinglet::daemon {

struct ClipFrame {
  SteadyTime at{};
  WallTime wall{};
  std::string jpeg;
  int width = 0;  // in pixels
};
using ClipFrames = std::vector<std::shared_ptr<const ClipFrame>>;

struct ClipLimits {
  std::chrono::milliseconds before{3'000};  // of a clip: before the visit
  std::chrono::milliseconds after{5'000};   // and from its begin on
  // A visit is known to have begun only after some frames; later ones than this lose the seconds before.
  std::chrono::milliseconds known_within{10'000};
  std::size_t bytes = 8U << 20;
};

// Thread-bound.
class ClipRing {
 public:
  explicit ClipRing(const ClipLimits& limits) : limits_(limits) {}

  // Frames come in the order of `at`.
  void add(ClipFrame frame);
  // Frames before `at` are for clips alone that are known by then; no others have them.
  void cut(SteadyTime at);
  // The visit with this id began at `started`. Of clips that nobody takes the newest four are remembered.
  void begin(std::string_view visit, SteadyTime started);
  // The frames of its clip, oldest first, and no more are kept for it. Empty: none is known. A file has pictures of one
  // size: of frames of several widths those are given that show the longest time.
  [[nodiscard]] ClipFrames take(std::string_view visit);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return frames_.size(); }

 private:
  struct Clip {
    std::string visit;
    SteadyTime from;
    SteadyTime to;

    [[nodiscard]] bool has(SteadyTime at) const { return at >= from && at <= to; }
  };
  void trim();
  void drop(const std::function<bool(const ClipFrame&)>& goes);
  [[nodiscard]] bool is_wanted(SteadyTime at) const;

  const ClipLimits limits_;
  SteadyTime cut_{SteadyTime::min()};
  std::deque<std::shared_ptr<const ClipFrame>> frames_;
  std::deque<Clip> clips_;
  std::size_t bytes_ = 0;
};

}  // namespace kinglet::daemon
