// SPDX-License-Identifier: Apache-2.0
// Why: workers that share one command's tiles with its caller. A worker that has no core is not waited for: the caller
// takes its tiles, and waits at the end only for those that are in the middle of one.
//
// A command is open for joining while it has tiles. `state_` says in one word which command it is, whether it is open
// and how many workers have joined; a worker that comes after the end cannot join, so it never sees a command that is
// gone.
#pragma once

#include <pthreadpool.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/threads/tiles.h"
#include "engine/threads/worth.h"

namespace kinglet::engine {

// What became of commands since the pool was made.
struct PoolFacts {
  std::uint64_t shared = 0;  // by several threads
  std::uint64_t alone = 0;   // by the caller, because workers did not pay or were not wished
  std::uint64_t pauses = 0;  // how often they began not to pay
  bool alone_now = false;
  [[nodiscard]] double alone_ratio() const {
    return alone == 0 ? 0 : static_cast<double>(alone) / static_cast<double>(alone + shared);
  }
};

// Owns its workers. Thread-safe: of callers at once each has the workers for one command in turn.
class Pool {
 public:
  enum class After { kStayAwake, kSleep };
  enum class Denormals { kKeep, kFlush };
  // What its caller wants of a command: what pays by the account, or its own thread alone. A try tells nobody that
  // workers do not pay.
  enum class Wish { kWhatPays, kAlone, kTryAlone };
  // One of those who call, each with one thread at a time. The pool outlives it.
  struct Caller {
    Pool* pool = nullptr;  // none: one thread
    Wish wish = Wish::kWhatPays;
  };
  // What its workers do first: tests hold them back there.
  using Arrival = void (*)(void* context, std::size_t thread);
  struct Options {
    Arrival before_joining = nullptr;
    void* context = nullptr;
    bool always_shared = false;
  };

  static constexpr std::size_t kMostThreads = 128;
  // `threads` of 1 to kMostThreads, the caller's included. kUnavailable when they cannot be made.
  [[nodiscard]] static Result<std::unique_ptr<Pool>> make(std::size_t threads, const Options& options);
  [[nodiscard]] static Result<std::unique_ptr<Pool>> make(std::size_t threads) { return make(threads, {}); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // Nothing runs on it any more.
  ~Pool();

  [[nodiscard]] std::size_t threads() const { return shares_.size(); }
  // Returns when all of the work is done; what it did is seen by the caller.
  void run(const Work& work, Denormals denormals, After after, Wish wish);
  // Workers that are awake for the next command sleep from now on: a pause follows.
  void rest();
  // Commands that were wished to be alone took so long, which also shortens a pause that workers have. Waits for
  // nobody.
  void spend(Worth::Duration worked) { spent_.fetch_add(worked.count(), std::memory_order_relaxed); }
  // Who has no wishes.
  [[nodiscard]] Caller& anybody() { return anybody_; }
  [[nodiscard]] PoolFacts facts() const;

 private:
  Pool(std::size_t threads, const Options& options) : options_(options), shares_(threads) {}
  void open(const Work& work, Denormals denormals, After after) KINGLET_REQUIRES(mutex_);
  void wait_for_joined(SteadyTime awake_until) KINGLET_REQUIRES(mutex_);
  void share_out(const Work& work, Denormals denormals, After after) KINGLET_REQUIRES(mutex_);
  void serve(std::size_t thread);
  [[nodiscard]] std::uint32_t next_state(std::uint32_t last);
  void sleep(std::uint32_t last);
  [[nodiscard]] bool join(std::uint32_t state);
  void leave();

  const Options options_;
  Caller anybody_{.pool = this};
  Mutex mutex_;  // one command at a time
  Worth worth_ KINGLET_GUARDED_BY(mutex_);

  // The command: written while it is closed and nobody has joined, read by those who have.
  const Work* work_ = nullptr;
  Denormals denormals_ = Denormals::kKeep;
  std::vector<Share> shares_;
  std::atomic<int> core_{-1};                // the caller's
  std::atomic<SteadyClock::rep> helped_{0};  // of the workers that have left

  alignas(64) std::atomic<std::uint32_t> state_{0};
  alignas(64) std::atomic<std::uint32_t> bell_{0};  // what sleeping workers wait on
  std::atomic<bool> asleep_{false};                 // at least one may be
  std::atomic<std::uint64_t> shared_{0}, alone_{0}, pauses_{0};
  std::atomic<bool> alone_now_{false};
  std::atomic<Worth::Duration::rep> spent_{0};  // not yet on the account
  std::vector<std::jthread> workers_;           // last: joined first
};

// As XNNPACK takes a pool (pthreadpool_interface.cpp): for as long as `caller` lives and lies there. Null without a
// pool.
[[nodiscard]] pthreadpool_t as_pthreadpool(Pool::Caller& caller);

}  // namespace kinglet::engine
