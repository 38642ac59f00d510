// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/patience.h"

#include <algorithm>

namespace kinglet::daemon {
namespace {

// What a source takes beyond what it said before its thread counts as lost in it: the system may be slow.
constexpr std::chrono::seconds kBeyond{10};

}  // namespace

void Patience::turn(SteadyTime now) { turn_by_ = now + kDeadAfter; }

void Patience::start(SteadyTime now, SteadyClock::duration longest_start) {
  turn_by_ = now + std::max<SteadyClock::duration>(kDeadAfter, longest_start + kBeyond);
  if (!in_vain_) sign_by_ = std::max(sign_by_, now + longest_start);
}

void Patience::started(SteadyTime now, SteadyClock::duration longest_pause) {
  // Twice what it says: clocks and networks are not exact. What is quick anyway gets no longer.
  pause_ = longest_pause > stall_after_ / 2 ? 2 * longest_pause : SteadyClock::duration{};
  last_sign_ = now;
  fruitful_ = false;
  turn(now);
  if (!in_vain_) sign_by_ = now + longest_silence();
}

void Patience::frame(SteadyTime at) {
  last_sign_ = at;
  fruitful_ = true;
  in_vain_ = false;
  sign_by_ = at + longest_silence();
}

void Patience::gave_up() { in_vain_ = in_vain_ || !fruitful_; }

void Patience::absent() {
  in_vain_ = false;
  sign_by_ = SteadyTime::max();
}

void Patience::rest(SteadyTime until) {
  if (!in_vain_) sign_by_ = std::max(sign_by_, until + kBeyond);
}

}  // namespace kinglet::daemon
