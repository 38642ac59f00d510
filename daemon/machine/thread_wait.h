// SPDX-License-Identifier: Apache-2.0
// Why: a thread that does not come round is our fault or a disk's. The first is cured by a new start, the second is
// not, and what waits in memory would be lost by it: Linux knows which one it is.
#pragma once

#include <sys/types.h>

#include <string_view>

namespace kinglet::daemon {

// Does this thread of ours wait for a file, or for memory that a file has to fill? Everything else in which a thread
// can be for long is up to us: it computes, waits for a lock, a peer, a child or a time. True where Linux does not say.
[[nodiscard]] bool waits_for_disk(pid_t thread);

// The same from proc_pid_stat(5) and from /proc/PID/syscall, of which the first word is a number in decimal, "running",
// or -1 outside of calls.
[[nodiscard]] bool tells_of_disk(std::string_view stat, std::string_view syscall);

}  // namespace kinglet::daemon
