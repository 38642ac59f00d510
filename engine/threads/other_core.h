// SPDX-License-Identifier: Apache-2.0
// Why: a worker on the core of who calls does nothing before the caller has done it. Linux puts one that wakes up there
// when it takes the other cores for taken, as a guest of KVM may (vcpu_is_preempted), and leaves it there for
// four to twenty milliseconds: longer than a small model takes.
#pragma once

#include <sched.h>

namespace kinglet::engine {

// A thread that leaves a core to another one, and may go wherever it could before. For the calling thread, which it
// belongs to. Where there is one core, or the system does not allow it, the thread stays where it is.
class OtherCore {
 public:
  OtherCore() { known_ = sched_getaffinity(0, sizeof allowed_, &allowed_) == 0 && CPU_COUNT(&allowed_) > 1; }
  // Away from there, if that is where this thread is.
  void than(int core) {
    if (!known_ || core < 0 || core >= CPU_SETSIZE || sched_getcpu() != core) return;
    cpu_set_t others = allowed_;
    CPU_CLR(core, &others);
    known_ = CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0 &&
             sched_setaffinity(0, sizeof allowed_, &allowed_) == 0;
  }

 private:
  cpu_set_t allowed_{};
  bool known_ = false;
};

}  // namespace kinglet::engine
