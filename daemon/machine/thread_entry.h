// SPDX-License-Identifier: Apache-2.0
// Why: every thread gets a name that `top -H` shows, and a last catch: an exception that nobody expected ends the
// process with a line in the log, and systemd starts it again.
#pragma once

#include <functional>

#include "engine/base/pulse.h"

namespace kinglet::daemon {

// `name` has at most 15 letters.
void enter_thread(const char* name, const std::function<void()>& body);
// The same of a thread whose pulse is looked at. It beats from here on, and rests at the end.
void enter_thread(Pulse& pulse, const std::function<void()>& body);

}  // namespace kinglet::daemon
