// SPDX-License-Identifier: Apache-2.0
#include "daemon/clock_sync.h"

#include <sys/timex.h>
#include <unistd.h>

namespace kinglet::daemon {

bool clock_is_synced() {
  timex state{};
  const int answer = adjtimex(&state);
  if (answer >= 0) return answer != TIME_ERROR;
  return access("/run/systemd/timesync/synchronized", F_OK) == 0;
}

}  // namespace kinglet::daemon
