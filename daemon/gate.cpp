// SPDX-License-Identifier: Apache-2.0
#include "daemon/gate.h"

namespace kinglet::daemon {

std::string_view to_string(SkipReason reason) {
  switch (reason) {
    case SkipReason::kRate:
      return "rate";
    case SkipReason::kPaused:
      return "paused";
    case SkipReason::kSettling:
      return "settling";
  }
  return "rate";
}

}  // namespace kinglet::daemon
