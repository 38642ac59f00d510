// SPDX-License-Identifier: Apache-2.0
// Why: a Pi has no clock battery, so every record says whether the wall clock could be believed.
#pragma once

namespace kinglet::daemon {

// What the kernel says (NTP has set it), or systemd-timesyncd's mark where a sandbox keeps the kernel silent.
// Allocates nothing. Reentrant.
[[nodiscard]] bool clock_is_synced();

}  // namespace kinglet::daemon
