// SPDX-License-Identifier: Apache-2.0
// Why: a signal to end is obeyed in time whatever the process does: a thread of its own hears it. While the process
// starts there is nothing to put in order, so it ends at once; later main puts all in order, and is not waited for
// beyond a limit.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"
#include "engine/base/pulse.h"

namespace kinglet::daemon {

// Owns the thread "signals" for SIGINT, SIGTERM and SIGHUP. Made before all other threads, which never see these
// signals then; thread-safe but for that.
class Signals {
 public:
  // Blocks the signals. `limit`: how long the end may take from the signal on.
  Signals(std::chrono::milliseconds limit, LogSink log);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Files that go with the process also when it ends at once: sockets.
  void remove_at_end(std::vector<std::string> files);
  // From now on there is something to put in order.
  void started();

  enum class Heard : std::uint8_t { kNothing, kReload, kEnd };
  // The next signal, or that the process is to end; kNothing after `patience`.
  [[nodiscard]] Heard wait(std::chrono::milliseconds patience);
  [[nodiscard]] bool end_is_wanted() const;
  // What the process ends with from now on, also when it ends at once.
  void end_with(int exit_code) { exit_code_ = exit_code; }
  [[nodiscard]] int exit_code() const { return exit_code_; }
  // The limit counts from now on, without a signal.
  void begin_end();
  // What the end waits for, for the log line of an end that takes too long. A text that stays.
  void note_step(const char* step) { step_ = step; }
  [[nodiscard]] const Pulse& pulse() const { return pulse_; }

 private:
  void listen(const std::stop_token& stop);
  void take(int signal);
  [[noreturn]] void end_now() KINGLET_REQUIRES(mutex_);

  Pulse pulse_{"signals"};
  const std::chrono::milliseconds limit_;
  const LogSink log_;
  const FileDescriptor wake_;
  std::atomic<const char*> step_{"nothing"};
  std::atomic<int> exit_code_{0};

  mutable Mutex mutex_;
  Condition changed_;
  bool started_ KINGLET_GUARDED_BY(mutex_) = false;
  bool reload_ KINGLET_GUARDED_BY(mutex_) = false;
  bool end_ KINGLET_GUARDED_BY(mutex_) = false;
  SteadyTime end_by_ KINGLET_GUARDED_BY(mutex_) = SteadyTime::max();
  std::vector<std::string> files_ KINGLET_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: joined first
};

}  // namespace kinglet::daemon
