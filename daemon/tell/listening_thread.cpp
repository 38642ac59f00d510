// SPDX-License-Identifier: Apache-2.0
#include "daemon/tell/listening_thread.h"

#include "daemon/machine/thread_entry.h"

namespace kinglet::daemon {

void ListeningThread::start() {
  reader_ = events_.subscribe(wished_, std::nullopt);
  thread_ = std::jthread([this](const std::stop_token& stop) {
    enter_thread(pulse_, [&] {
      run(stop);
      reader_.reset();
    });
  });
}

void ListeningThread::stop() {
  begin_stop();
  if (thread_.joinable()) thread_.join();
}

void ListeningThread::hear_events(std::chrono::milliseconds patience) {
  for (;;) {
    const auto told = events_.take_one(*reader_, patience);
    if (!told) return;
    note(*told);
    patience = std::chrono::milliseconds(0);
  }
}

}  // namespace kinglet::daemon
