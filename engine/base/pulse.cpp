// SPDX-License-Identifier: Apache-2.0
#include "engine/base/pulse.h"

#include <unistd.h>

namespace kinglet {

void Pulse::beat(SteadyClock::duration longest) {
  if (thread_ == 0) thread_ = gettid();
  const SteadyTime now = SteadyClock::now();
  last_ = now;
  by_ = now + longest;
}

}  // namespace kinglet
