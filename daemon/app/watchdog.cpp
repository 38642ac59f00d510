// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/watchdog.h"

#include <systemd/sd-daemon.h>

namespace kinglet::daemon {
namespace {

constexpr std::chrono::seconds kFeedInterval{1};

}  // namespace

Watchdog::Notify systemd_notify() {
  return [](const std::string& state) { sd_notify(0, state.c_str()); };
}

void Watchdog::ready() { notify_("READY=1"); }
void Watchdog::stopping() { notify_("STOPPING=1"); }

void Watchdog::look(const Vitals& vitals, const std::string& status) {
  if (status != last_status_) {
    notify_("STATUS=" + status);
    last_status_ = status;
  }
  if (vitals.now - last_fed_ < kFeedInterval || !frames_move_or_are_known_absent(vitals)) return;
  last_fed_ = vitals.now;
  notify_("WATCHDOG=1");
}

}  // namespace kinglet::daemon
