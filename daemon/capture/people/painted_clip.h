// SPDX-License-Identifier: Apache-2.0
// Why: to paint over a clip of large pictures takes many seconds on a small board: a picture of it is a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "daemon/capture/clips/clip_ring.h"
#include "daemon/capture/people/people.h"
#include "store/database/shared_bytes.h"

namespace kinglet::daemon {

// Thread-bound. A picture is let go of as soon as it is painted, so that each is in memory once.
class PaintedClip {
 public:
  // `people`: who is hidden; may be absent, then there is nothing to do.
  PaintedClip(ClipFrames clip, std::shared_ptr<const People> people);

  // Goes on until a picture was painted over. True: that was all of them. In a hurry those are left out that would have
  // to be.
  enum class Hurry : std::uint8_t { kNo, kYes };
  [[nodiscard]] bool step(Hurry hurry);
  // What step() has left, as a clip.
  [[nodiscard]] store::SharedBytes made() const;

 private:
  ClipFrames clip_;
  const std::shared_ptr<const People> people_;
  std::size_t next_ = 0;  // of the clip
  ClipFrames shown_;
};

}  // namespace kinglet::daemon
