// SPDX-License-Identifier: Apache-2.0
// Why: the workers that run kernels, for all sessions of a process: a second session brings no second set of threads.
#pragma once

#include <pthreadpool.h>

#include <memory>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/threads/pool.h"

namespace kinglet::engine {

// Shared by the sessions that run on it. Thread-safe: of two sessions that run at once, each operator has the workers
// for itself in turn.
class ThreadPool {
 public:
  // `threads` >= 1; the caller of a run is one of them, so that 1 makes none. kUnavailable when they cannot be made.
  [[nodiscard]] static Result<std::shared_ptr<const ThreadPool>> make(int threads);

  // Null for one thread: the caller's alone.
  [[nodiscard]] pthreadpool_t get() const;
  [[nodiscard]] int threads() const { return threads_; }
  // Workers that wait awake for the next operator sleep from now on: a pause follows.
  void rest() const;
  // As long as it lives runs are their callers' alone, also of other sessions.
  class Alone {
   public:
    Alone(const ThreadPool& pool, bool wished) : pool_(wished ? pool.pool_.get() : nullptr) {
      if (pool_ != nullptr) pool_->ask_alone();
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    ~Alone() {
      if (pool_ != nullptr) pool_->end_alone(SteadyClock::now() - start_);
    }

   private:
    Pool* pool_;
    SteadyTime start_ = SteadyClock::now();
  };
  // All zero of one thread.
  [[nodiscard]] PoolFacts facts() const { return pool_ ? pool_->facts() : PoolFacts{}; }

 private:
  explicit ThreadPool(int threads) : threads_(threads) {}

  int threads_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace kinglet::engine
