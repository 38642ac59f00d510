// SPDX-License-Identifier: Apache-2.0
// Why: the workers that run kernels, for all sessions of a process: a second session brings no second set of threads.
#pragma once

#include <pthreadpool.h>

#include <memory>

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
  // One more who calls, with wishes of its own; this outlives it.
  [[nodiscard]] Pool::Caller caller() const { return {.pool = pool_.get()}; }
  // All zero of one thread.
  [[nodiscard]] PoolFacts facts() const { return pool_ ? pool_->facts() : PoolFacts{}; }

 private:
  explicit ThreadPool(int threads) : threads_(threads) {}

  int threads_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace kinglet::engine
