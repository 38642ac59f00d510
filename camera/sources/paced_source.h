// SPDX-License-Identifier: Apache-2.0
// Why: what the sources that make their own pictures have in common: a fixed rate, a few reused buffers whose leases
// come back, and a stop that wakes whoever waits.
#pragma once

#include <memory>
#include <vector>

#include "camera/source/lease_pool.h"
#include "camera/source/source.h"

namespace kinglet::camera {

// What such a source fills.
struct MadePicture {
  Image image;
  // Where it is not empty, the picture itself, of `size`: `image` shows it in fewer pixels.
  std::vector<std::byte> jpeg;
  // Where it is not empty, the picture itself, of `size`, as to_yuv420() packs it; `image` has nothing.
  std::vector<std::byte> yuv420;
  ImageSize size;
};

class PacedSource : public FrameSource {
 public:
  static constexpr int kDepth = 4;

  [[nodiscard]] Result<void> start() final;
  [[nodiscard]] Result<std::variant<Frame, NoFrame>> next(SteadyTime deadline) final;
  void stop() final;
  [[nodiscard]] int depth() const final { return buffers_->depth(); }
  [[nodiscard]] std::uint64_t dropped_count() const final { return dropped_; }
  [[nodiscard]] SteadyClock::duration longest_pause() const final { return period_; }
  void want_every(SteadyClock::duration pause) final;

 protected:
  enum class Late {
    kSkip,   // frames whose time has passed are lost, as with a camera
    kDelay,  // every picture is shown, each at least a period after the last: stills
  };
  enum class Shows { kTakenPictures, kDrawnOnes };
  // period zero: as fast as it is asked.
  PacedSource(SteadyClock::duration period, Late late, Shows shows = Shows::kTakenPictures);

  // Called by start(); the first picture comes next.
  [[nodiscard]] virtual Result<void> rewind() = 0;
  enum class Drawn { kFrame, kNothing, kEnd };  // kNothing: this one cannot be shown, ask again
  // Fills `picture` (size and buffer) with frame `sequence`.
  [[nodiscard]] virtual Result<Drawn> draw(std::uint64_t sequence, MadePicture& picture) = 0;

  // Are fewer wanted than there would be? Then hardly anybody looks at them.
  [[nodiscard]] bool rests() const { return wanted_every_ > period_; }

  // Frames or pictures that the source gave up on; counted with the drops. Only from draw().
  void count_dropped(std::uint64_t count) { dropped_ += count; }

 private:
  using Buffers = LeasePool<MadePicture, kDepth>;
  [[nodiscard]] Waited wait_until_due(SteadyTime deadline);
  // Frames whose time has passed by now are skipped; gives how many.
  std::uint64_t skip_late();

  const SteadyClock::duration period_;
  const Late late_;
  const Shows shows_;
  std::shared_ptr<Buffers> buffers_;  // shared with the leases, which may outlive the source
  SteadyTime due_{};
  SteadyTime begun_{};  // the newest frame
  SteadyClock::duration wanted_every_{};
  std::uint64_t sequence_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace kinglet::camera
