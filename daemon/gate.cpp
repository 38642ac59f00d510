// SPDX-License-Identifier: Apache-2.0
#include "daemon/gate.h"

namespace kinglet::daemon {

std::string_view to_string(SkipReason reason) { return reason == SkipReason::kRate ? "rate" : "paused"; }

}  // namespace kinglet::daemon
