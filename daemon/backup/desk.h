// SPDX-License-Identifier: Apache-2.0
// Why: what a running daemon lends to those who ask for a backup or bring one.
#pragma once

#include <functional>

#include "daemon/backup/incoming.h"
#include "daemon/backup/parts.h"

namespace kinglet::daemon::backup {

// Thread-safe, like what it refers to.
struct Desk {
  Places places;  // without those of /etc; `state` empty: nothing is kept
  Incoming::JudgeSettings judge_settings;
  std::function<bool()> called_off;  // the daemon ends
};

}  // namespace kinglet::daemon::backup
