// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/frame_worker.h"

#include <sys/resource.h>

#include <utility>

#include "daemon/machine/thread_entry.h"

namespace kinglet::daemon {
namespace {

// A core that a model wants as well is shared 1024 to 15, so that pictures take a seventieth of it and no more.
constexpr int kNiceness = 19;
constexpr std::chrono::seconds kTurn{10};  // so that it is seen when it hangs

}  // namespace

FrameWorker::FrameWorker(std::string name, std::string complaint, LogSink log, Work work)
    : pulse_(std::move(name)), complaint_(std::move(complaint)), log_(std::move(log)), work_(std::move(work)) {
  thread_ = std::jthread([this] { enter_thread(pulse_, [this] { run(); }); });
}

void FrameWorker::stop() {
  frames_.end();
  if (thread_.joinable()) thread_.join();
}

void FrameWorker::run() {
  // Linux gives each thread a niceness of its own. Without the right to it, it stays as it is.
  (void)setpriority(PRIO_PROCESS, 0, kNiceness);
  std::string last_error;
  while (!frames_.has_ended()) {
    pulse_.beat(kTurn);
    const camera::FrameCopies::Share copy = frames_.take(SteadyClock::now() + kTurn);
    if (!copy) continue;
    const Result<void> done = work_(*copy);
    if (done) continue;
    std::string line = describe(done.error());
    if (log_ && line != last_error) log_(LogLevel::kWarning, complaint_ + line);
    last_error = std::move(line);
  }
}

}  // namespace kinglet::daemon
