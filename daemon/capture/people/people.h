// SPDX-License-Identifier: Apache-2.0
// Why: people whom the detector finds are to be in no picture that is kept or sent. A picture is older than what is
// known of it by then, and the next second may bring what has to be hidden in the one before: so they are painted over
// when a picture leaves, by the time at which it was exposed.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "camera/frame/frame.h"
#include "daemon/capture/clips/clip_ring.h"
#include "engine/base/area.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon {

// Of one camera. Thread-safe; seen() and looked() belong to one thread, and never go back in time.
class People {
 public:
  // A person is hidden from so long before the look at the whole frame that did not find it yet until so long after it
  // is last seen.
  static constexpr std::chrono::seconds kBefore{3};
  static constexpr std::chrono::seconds kAfter{4};

  // `can_see`: whether anybody looks for people at all; asked on any thread.
  explicit People(std::function<bool()> can_see) : can_see_(std::move(can_see)) {}

  // The whole frame exposed at that time was looked at, which is said last; and who was found there, or in a part of
  // it. Allocate nothing.
  void looked(SteadyTime at);
  void seen(SteadyTime at, const Area& box);

  // What is black in a frame exposed at that time, in a picture that is kept or handed out: people, with some room
  // around them; all of it where whole frames were not looked at both before and after it, or where that is forgotten.
  [[nodiscard]] std::vector<Area> areas(SteadyTime at) const;
  // The same in a live picture, which is newer than any look: all of it only kAfter after the last one.
  [[nodiscard]] std::vector<Area> areas_live(SteadyTime at) const;
  // No look to come hides anybody else in a frame exposed at that time. Whom one finds is hidden from kBefore the last
  // look that missed him, so that a frame more than kBefore later has to have been looked at.
  [[nodiscard]] bool is_known(SteadyTime at) const;
  // The frame with the black of areas(), in `bytes`; as it is where there is none.
  [[nodiscard]] Result<camera::FrameView> hidden(const camera::FrameView& view, SteadyTime at,
                                                 std::vector<std::byte>& bytes) const;
  [[nodiscard]] Result<camera::FrameView> hidden_live(const camera::FrameView& view, SteadyTime at,
                                                      std::vector<std::byte>& bytes) const;
  // The same of a JPEG, which shows `part` of the frame. Nothing: it cannot be read.
  [[nodiscard]] std::optional<std::string> hidden(const std::string& jpeg, SteadyTime at, const Area& part = {}) const;
  // The same of a picture of a clip. nullptr: it cannot be read.
  [[nodiscard]] std::shared_ptr<const ClipFrame> hidden(const std::shared_ptr<const ClipFrame>& frame) const;

 private:
  struct Stay {
    Area box;
    SteadyTime first;
    SteadyTime last;

    [[nodiscard]] bool is_about(SteadyTime at, SteadyClock::duration after) const {
      return at >= first - kBefore && at <= last + after;
    }
  };
  // The newest stays; what is older is forgotten.
  class Log {
   public:
    void add(const Stay& stay);
    [[nodiscard]] Stay* newest() { return count_ == 0 ? nullptr : &stays_[newest_]; }
    [[nodiscard]] const Stay* newest() const { return count_ == 0 ? nullptr : &stays_[newest_]; }
    template <typename Each>
    void each(const Each& call) const {
      for (std::size_t i = 0; i < count_; ++i) call(stays_[i]);
    }
    template <typename Each>
    void each(const Each& call) {
      for (std::size_t i = 0; i < count_; ++i) call(stays_[i]);
    }
    // Of no time before this is all known.
    [[nodiscard]] SteadyTime known_from() const { return known_from_; }

   private:
    static constexpr std::size_t kMost = 256;
    std::array<Stay, kMost> stays_{};  // a ring
    std::size_t newest_ = kMost - 1;
    std::size_t count_ = 0;
    SteadyTime known_from_ = SteadyTime::min();
  };

  // `unseen`: so long after the last look nobody has to be there.
  [[nodiscard]] std::vector<Area> areas(SteadyTime at, SteadyClock::duration unseen) const;

  const std::function<bool()> can_see_;
  mutable Mutex mutex_;
  Log people_ KINGLET_GUARDED_BY(mutex_);
  Log looks_ KINGLET_GUARDED_BY(mutex_);  // times in which looks came often enough
};

}  // namespace kinglet::daemon
