// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/frame_worker.h"

#include <sys/resource.h>

#include <utility>

#include "daemon/machine/thread_entry.h"

namespace kinglet::daemon {
namespace {

constexpr int kNiceness = 10;

}  // namespace

FrameWorker::FrameWorker(const char* name, std::string complaint, LogSink log, Work work)
    : complaint_(std::move(complaint)), log_(std::move(log)), work_(std::move(work)) {
  thread_ = std::jthread([this, name] { enter_thread(name, [this] { run(); }); });
}

void FrameWorker::stop() {
  frames_.end();
  if (thread_.joinable()) thread_.join();
}

void FrameWorker::run() {
  // Linux gives each thread a niceness of its own. Without the right to it, it stays as it is.
  (void)setpriority(PRIO_PROCESS, 0, kNiceness);
  std::string last_error;
  while (const FrameCopy* copy = frames_.take(std::nullopt)) {
    const Result<void> done = work_(*copy);
    if (done) continue;
    std::string line = describe(done.error());
    if (log_ && line != last_error) log_(LogLevel::kWarning, complaint_ + line);
    last_error = std::move(line);
  }
}

}  // namespace kinglet::daemon
