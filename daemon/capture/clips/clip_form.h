// SPDX-License-Identifier: Apache-2.0
// Why: pictures as the camera gives them make the best clip and take ten times the room of small ones, in memory and of
// what may be written in a day. How large they are and how many a second is decided here alone.
#pragma once

#include <chrono>
#include <cstdint>

#include "daemon/capture/clips/clip_ring.h"
#include "engine/base/clock.h"

namespace kinglet::daemon {

struct ClipForm {
  int width = 0;                          // larger pictures are made so wide; 0: none is
  std::chrono::milliseconds interval{0};  // between two; 0: each is taken

  bool operator==(const ClipForm&) const = default;
};
// For which there is always room, and how often a scene is seen in which nothing moves.
inline constexpr ClipForm kSmallClip{.width = 640, .interval = std::chrono::milliseconds(200)};

// How wide pictures of this form are where the camera gives them so wide.
[[nodiscard]] int width_of(const ClipForm& form, int width);
// The bytes of a JPEG that is so many times as wide as another, in those of that one: detail does not grow as pixels
// do.
[[nodiscard]] double bytes_times(double width_times);

// What the camera gives, and what a clip of it may have.
struct ClipNeeds {
  int width = 0;                  // of a frame, in pixels
  std::uint64_t bytes = 0;        // of a frame as a JPEG of its own size
  SteadyClock::duration pause{};  // between two frames
  std::uint64_t clip_bytes = 0;   // so large may a clip be
};

// The best form that fits, or the smallest of all; what `wished` says, but for its zeros, stays as it is. Pictures are
// given up before their size. `now`: the form so far, which is left for larger pictures only when there is room to
// spare, and for smaller ones only when the fewest pictures would take more than 1.25 of what a clip may. Pure.
[[nodiscard]] ClipForm form_of(const ClipForm& wished, const ClipForm& now, const ClipLimits& limits,
                               const ClipNeeds& needs);

}  // namespace kinglet::daemon
