// SPDX-License-Identifier: Apache-2.0
// Why: the service manager hears from us only what is true: READY once, STATUS when it changes, WATCHDOG when frames
// really moved or are really known to be absent. No timer of its own feeds it.
#pragma once

#include <functional>
#include <string>

#include "daemon/doctor/health.h"

namespace kinglet::daemon {

// Thread-bound (main). Does nothing where no service manager listens.
class Watchdog {
 public:
  using Notify = std::function<void(const std::string& state)>;  // as sd_notify(3)
  explicit Watchdog(Notify notify) : notify_(std::move(notify)) {}

  void ready();
  void stopping();
  // Called every fraction of a second by the main loop.
  void look(const Vitals& vitals, const std::string& status);

 private:
  Notify notify_;
  std::string last_status_;
  SteadyTime last_fed_{};
};

// sd_notify of libsystemd.
[[nodiscard]] Watchdog::Notify systemd_notify();

}  // namespace kinglet::daemon
