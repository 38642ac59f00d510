// SPDX-License-Identifier: Apache-2.0
// Why: the fixed threads that answer connections, shared by all listening sockets, with bounds on what waits and on
// what one address may hold.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/mutex.h"

namespace kinglet::daemon::http {

// What waits is counted beyond the threads that could have taken it: in a burst they may be late to do so.
struct PoolLimits {
  std::size_t threads = 18;
  std::size_t waiting = 64;             // in all
  std::size_t waiting_of_address = 32;  // so that one address cannot fill the queue
  std::size_t working_of_address = 12;  // threads that one address holds at a time
  std::size_t left_to_others = 2;       // threads without a stream that one address never holds
};

// Owns its threads ("http-0", ...). Thread-safe.
class Pool {
 public:
  explicit Pool(PoolLimits limits);
  ~Pool();

  // False when too many wait already, in all or of this address, or after stop().
  [[nodiscard]] bool add(std::string address, std::function<void()> job);
  // Somebody waits who would be served by a free thread: connections that only idle should go.
  [[nodiscard]] bool crowded() const;
  // The thread that asks, which works for `address`, has a long answer to give until the last copy is gone: it no
  // longer counts among those for requests.
  [[nodiscard]] std::shared_ptr<void> hold_stream(const std::string& address);
  // Runs what waits and joins.
  void stop();

 private:
  struct Job {
    std::string address;
    std::function<void()> run;
  };
  struct Held {
    std::size_t threads = 0;
    std::size_t streams = 0;  // of them
  };
  void work();
  void end_stream(const std::string& address);
  // The first in line whose address has not its share of the threads; the end: none.
  [[nodiscard]] std::deque<Job>::iterator next() KINGLET_REQUIRES(mutex_);
  [[nodiscard]] bool has_room(const std::string& address) const KINGLET_REQUIRES(mutex_);
  [[nodiscard]] bool is_full(const std::string& address) const KINGLET_REQUIRES(mutex_);

  const PoolLimits limits_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Job> waiting_ KINGLET_GUARDED_BY(mutex_);
  std::map<std::string, Held> working_ KINGLET_GUARDED_BY(mutex_);  // by address
  std::size_t busy_ KINGLET_GUARDED_BY(mutex_) = 0;                 // threads, of all addresses
  std::size_t streams_ KINGLET_GUARDED_BY(mutex_) = 0;
  bool stopping_ KINGLET_GUARDED_BY(mutex_) = false;
  std::vector<std::jthread> threads_;  // last: joined first
};

}  // namespace kinglet::daemon::http
