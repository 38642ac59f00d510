// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/thread_entry.h"

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace kinglet::daemon {

void enter_thread(const char* name, const std::function<void()>& body) {
  pthread_setname_np(pthread_self(), name);
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kingletd: thread %s: unexpected exception: %s\n", name, error.what());
    std::abort();
  }
}

void enter_thread(Pulse& pulse, const std::function<void()>& body) {
  pulse.beat();
  enter_thread(pulse.name().c_str(), body);
  pulse.rest();
}

}  // namespace kinglet::daemon
