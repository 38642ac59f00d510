// SPDX-License-Identifier: Apache-2.0
// Why: the fixed threads that answer requests, shared by all listening sockets, with a bound on what waits.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "engine/base/mutex.h"

namespace kinglet::daemon::http {

// Owns its threads ("http-0", ...). Thread-safe.
class Pool {
 public:
  Pool(std::size_t threads, std::size_t most_waiting);
  ~Pool();

  // False when too many wait already, or after stop().
  [[nodiscard]] bool add(std::function<void()> job);
  // Somebody waits: connections that only idle should go.
  [[nodiscard]] bool crowded() const;
  // Runs what waits and joins.
  void stop();

 private:
  void work();

  const std::size_t most_waiting_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<std::function<void()>> waiting_ KINGLET_GUARDED_BY(mutex_);
  bool stopping_ KINGLET_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last: joined first
};

}  // namespace kinglet::daemon::http
