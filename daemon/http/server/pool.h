// SPDX-License-Identifier: Apache-2.0
// Why: the fixed threads that answer connections, shared by all listening sockets, with bounds on what waits and on
// what one address may hold, and with places kept for those who must always be served.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/http/message/caller.h"
#include "engine/base/mutex.h"
#include "engine/base/pulse.h"

namespace kinglet::daemon::http {

// What waits is counted beyond the threads that could have taken it: in a burst they may be late to do so.
struct PoolLimits {
  std::size_t threads = 20;
  std::size_t kept = 1;                 // threads for owners and this machine, and as many more for this machine alone
  std::size_t waiting = 64;             // of home network and strangers, of these half
  std::size_t waiting_kept = 8;         // further ones for owners and this machine, and as many for this machine alone
  std::size_t waiting_of_address = 32;  // so that one address cannot fill the queue
  std::size_t working_of_address = 12;  // threads that one address holds at a time
  std::size_t left_to_others = 2;       // threads without a stream that one address never holds
};

// Owns its threads ("http-0", ...). Thread-safe.
class Pool {
 public:
  explicit Pool(PoolLimits limits);
  ~Pool();

  // The place of one connection while a thread works for it. Bound to that thread.
  class Seat {
   public:
    // Takes a place whether there is one or not: for who is no job of the pool.
    Seat(Pool& pool, Visitor visitor);
    ~Seat();
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    // Now it is known who this is. False: such visitors hold all that they may, and this one has to go.
    [[nodiscard]] bool move_to(const Visitor& visitor);
    // Somebody waits who would be served by this thread: connections that idle or are slow should go. Never while it
    // streams.
    [[nodiscard]] bool crowded() const;
    // A request begins, which is answered soon: its thread is expected back.
    void expect_answer();
    // It is answered; how long a client takes to read that is its own matter.
    void expect_nothing();
    // A long answer until the last copy is gone, before the seat: the thread no longer counts among those for requests.
    [[nodiscard]] std::shared_ptr<void> hold_stream();

   private:
    friend class Pool;
    struct Taken {};
    Seat(Pool& pool, Visitor visitor, Pulse& pulse, Taken /*already*/)
        : pool_(pool), visitor_(std::move(visitor)), pulse_(&pulse) {}

    Pool& pool_;
    Visitor visitor_;
    Pulse* pulse_ = nullptr;  // of the thread; nullptr: it is none of the pool's
    bool streaming_ = false;  // of the pool's mutex
  };

  struct Job {
    Visitor visitor;
    std::function<void(Seat&)> run;
    std::function<void()> refuse;  // instead, on the thread of add(): somebody else needs the place in the queue more
  };
  // False, and nothing is called, when too many wait already, in all or of this address, or after stop().
  [[nodiscard]] bool add(Job job);
  // Runs what waits and joins.
  void stop();
  [[nodiscard]] std::vector<const Pulse*> pulses() const;  // of its threads

 private:
  static constexpr std::size_t kStandings = 4;
  using Counts = std::array<std::size_t, kStandings>;
  struct Held {
    std::size_t threads = 0;
    std::size_t streams = 0;  // of them
  };
  void work(Pulse& pulse);
  void sit(const Visitor& visitor) KINGLET_REQUIRES(mutex_);
  void leave(const Visitor& visitor) KINGLET_REQUIRES(mutex_);
  void end_stream(Seat& seat);
  // The one whose address holds the least, of those the first in line; the end: nobody may have a thread.
  [[nodiscard]] std::deque<Job>::iterator next() KINGLET_REQUIRES(mutex_);
  [[nodiscard]] bool may_start(const Visitor& visitor) const KINGLET_REQUIRES(mutex_);
  // Threads for requests that visitors up to this standing hold together at most.
  [[nodiscard]] std::size_t most_threads(std::size_t standing) const KINGLET_REQUIRES(mutex_);
  [[nodiscard]] std::size_t most_waiting(std::size_t standing) const;
  [[nodiscard]] Held held_by(const std::string& key) const KINGLET_REQUIRES(mutex_);
  [[nodiscard]] std::size_t demand_of(const std::string& key) const KINGLET_REQUIRES(mutex_);
  // The standing up to which everything is taken where this one comes; kStandings: there is room.
  [[nodiscard]] std::size_t full_at(const Visitor& visitor) const KINGLET_REQUIRES(mutex_);
  // Who has to go for this one; the end: nobody has less right to wait.
  [[nodiscard]] std::deque<Job>::iterator greediest(const Visitor& visitor, std::size_t up_to) KINGLET_REQUIRES(mutex_);

  const PoolLimits limits_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Job> waiting_ KINGLET_GUARDED_BY(mutex_);
  std::map<std::string, Held> held_ KINGLET_GUARDED_BY(mutex_);  // by limit key
  Counts working_ KINGLET_GUARDED_BY(mutex_){};                  // by standing: threads without a stream
  std::size_t streams_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::size_t busy_ KINGLET_GUARDED_BY(mutex_) = 0;  // threads that have a seat
  bool stopping_ KINGLET_GUARDED_BY(mutex_) = false;
  std::deque<Pulse> pulses_;
  std::vector<std::jthread> threads_;  // last: joined first
};

}  // namespace kinglet::daemon::http
