// SPDX-License-Identifier: Apache-2.0
// Why: a worker on the core of who calls does nothing before the caller has done it. Linux puts one that wakes up there
// when it takes the other cores for taken, as a guest of KVM may (vcpu_is_preempted), and leaves it there for
// four to twenty milliseconds: longer than a small model takes.
#pragma once

#include <sched.h>

namespace kinglet::engine {

// The calling thread goes to another core, if it is on that one, and may be moved wherever it could before. Where it
// has one core, or the system does not allow it, it stays where it is.
inline void leave_core(int core) {
  if (core < 0 || core >= CPU_SETSIZE || sched_getcpu() != core) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  if (sched_setaffinity(0, sizeof allowed, &allowed) == 0) return;
  // Between the two the system has taken all of them from us: what it gives now.
  for (int any = 0; any < CPU_SETSIZE; ++any) CPU_SET(any, &allowed);
  sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace kinglet::engine
