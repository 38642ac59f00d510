// SPDX-License-Identifier: Apache-2.0
#include "engine/threads/pool.h"

#include <algorithm>
#include <system_error>

#include "engine/base/format.h"
#include "engine/threads/denormals.h"
#include "engine/threads/leave_core.h"

namespace kinglet::engine {
namespace {

// state_, from below: how many workers have joined; four flags; the number of the command.
constexpr std::uint32_t kJoined = 0xFF;     // mask
constexpr std::uint32_t kOpen = 0x100;      // workers may join
constexpr std::uint32_t kRest = 0x200;      // who has nothing to do sleeps at once
constexpr std::uint32_t kAwaited = 0x400;   // the caller sleeps until nobody is joined
constexpr std::uint32_t kEnd = 0x800;       // of the pool
constexpr std::uint32_t kFirst = 0x1000;    // one command
constexpr std::uint32_t kNumber = ~0xFFFU;  // mask; a worker that sleeps through all of them misses one command

// A worker that finds nothing to do stays awake as long as operators follow each other; one that is waited for has as
// long as two of the caller's tiles took, plus what waking somebody costs.
constexpr auto kAwake = std::chrono::microseconds(50);
constexpr auto kWaking = std::chrono::microseconds(20);
constexpr auto kLongestAwake = std::chrono::milliseconds(1);
constexpr int kLooksPerTime = 16;

// Something for a worker whose last command was this.
bool is_news(std::uint32_t state, std::uint32_t last) {
  return (state & kEnd) != 0 || ((state & kOpen) != 0 && (state & kNumber) != last);
}

void relax() {
#if defined(__SSE__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Result<std::unique_ptr<Pool>> Pool::make(std::size_t threads, const Options& options) {
  if (threads < 1 || threads > kMostThreads) {
    return fail(ErrorCode::kUsage, format_text("threads is {}, expected 1 to {}", threads, kMostThreads));
  }
  std::unique_ptr<Pool> pool(new Pool(threads, options));  // the constructor is private
  try {
    for (std::size_t thread = 1; thread < threads; ++thread) {
      pool->workers_.emplace_back([of = pool.get(), thread] { of->serve(thread); });
    }
  } catch (const std::system_error&) {
    return fail(ErrorCode::kUnavailable, format_text("cannot make {} threads", threads));
  }
  return pool;
}

Pool::~Pool() {
  state_.store(kEnd);
  bell_.fetch_add(1);
  bell_.notify_all();
}

PoolFacts Pool::facts() const {
  return {.shared = shared_.load(std::memory_order_relaxed),
          .alone = alone_.load(std::memory_order_relaxed),
          .pauses = pauses_.load(std::memory_order_relaxed),
          .alone_now = alone_now_.load(std::memory_order_relaxed)};
}

void Pool::rest() {
  if (threads() > 1) state_.fetch_or(kRest, std::memory_order_relaxed);
}

void Pool::run(const Work& work, Denormals denormals, After after, Wish wish) {
  const std::size_t tiles = work.tiles();
  const bool could = threads() > 1 && tiles > 1 && tiles <= Share::kMostTiles;
  if (options_.always_shared) wish = Wish::kWhatPays;
  if (could && wish == Wish::kAlone) {
    alone_now_.store(true, std::memory_order_relaxed);
  } else if (could && wish == Wish::kWhatPays) {
    const MutexLock lock(mutex_);
    worth_.spend(Worth::Duration(spent_.exchange(0, std::memory_order_relaxed)));
    const bool alone = !options_.always_shared && worth_.alone();
    alone_now_.store(alone, std::memory_order_relaxed);
    if (!alone) return share_out(work, denormals, after);
  }
  if (after == After::kSleep) rest();
  const SteadyTime start = SteadyClock::now();
  {
    const FlushedDenormals flushed(denormals == Denormals::kFlush);
    work.run_alone();
  }
  if (!could || wish == Wish::kTryAlone) return;
  alone_.fetch_add(1, std::memory_order_relaxed);
  if (wish == Wish::kAlone) return;
  const MutexLock lock(mutex_);
  worth_.spend(SteadyClock::now() - start);
}

void Pool::share_out(const Work& work, Denormals denormals, After after) {
  const SteadyTime start = SteadyClock::now();
  open(work, denormals, after);
  std::size_t own = 0;
  {
    const FlushedDenormals flushed(denormals == Denormals::kFlush);
    own = work.run_share(0, shares_);
  }
  const SteadyTime done = SteadyClock::now();
  SteadyTime end = done;
  if ((state_.fetch_and(~kOpen, std::memory_order_acquire) & kJoined) != 0) {
    const auto two_tiles = 2 * (done - start) / static_cast<std::int64_t>(std::max<std::size_t>(own, 1));
    wait_for_joined(done + std::min<Worth::Duration>(kWaking + two_tiles, kLongestAwake));
    end = SteadyClock::now();
  }
  shared_.fetch_add(1, std::memory_order_relaxed);
  const Worth::Duration helped(helped_.load(std::memory_order_relaxed));
  if (worth_.add({.worked = done - start, .waited = end - done, .helped = helped, .own = own, .tiles = work.tiles()})) {
    pauses_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Pool::open(const Work& work, Denormals denormals, After after) {
  const std::size_t each = work.tiles() / threads();
  const std::size_t more = work.tiles() % threads();
  std::size_t first = 0;
  for (std::size_t thread = 0; thread < threads(); ++thread) {
    const std::size_t end = first + each + (thread < more ? 1 : 0);
    shares_[thread].fill(first, end);
    first = end;
  }
  work_ = &work;
  denormals_ = denormals;
  core_.store(sched_getcpu(), std::memory_order_relaxed);
  helped_.store(0, std::memory_order_relaxed);
  const std::uint32_t number = (state_.load(std::memory_order_relaxed) & kNumber) + kFirst;
  // In one order for all with what sleep() does: either it sees this command, or asleep_ is seen here.
  state_.store(number | kOpen | (after == After::kSleep ? kRest : 0), std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false, std::memory_order_seq_cst)) {
    bell_.fetch_add(1, std::memory_order_seq_cst);
    bell_.notify_all();
  }
}

void Pool::wait_for_joined(SteadyTime awake_until) {
  do {
    for (int i = 0; i < kLooksPerTime; ++i) {
      if ((state_.load(std::memory_order_acquire) & kJoined) == 0) return;
      relax();
    }
  } while (SteadyClock::now() < awake_until);
  std::uint32_t state = state_.fetch_or(kAwaited, std::memory_order_acquire) | kAwaited;
  while ((state & kJoined) != 0) {
    state_.wait(state, std::memory_order_acquire);
    state = state_.load(std::memory_order_acquire);
  }
}

void Pool::serve(std::size_t thread) {
  for (std::uint32_t last = 0;;) {
    const std::uint32_t state = next_state(last);
    if ((state & kEnd) != 0) return;
    if (options_.before_joining != nullptr) options_.before_joining(options_.context, thread);
    leave_core(core_.load(std::memory_order_relaxed));
    last = state & kNumber;
    if (!join(state)) continue;
    const SteadyTime start = SteadyClock::now();
    {
      const FlushedDenormals flushed(denormals_ == Denormals::kFlush);
      work_->run_share(thread, shares_);
    }
    helped_.fetch_add((SteadyClock::now() - start).count(), std::memory_order_relaxed);
    leave();
  }
}

bool Pool::join(std::uint32_t state) {
  const std::uint32_t number = state & kNumber;
  while ((state & kOpen) != 0 && (state & kNumber) == number) {
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void Pool::leave() {
  const std::uint32_t before = state_.fetch_sub(1, std::memory_order_release);
  if ((before & kAwaited) != 0 && (before & kJoined) == 1) state_.notify_one();
}

std::uint32_t Pool::next_state(std::uint32_t last) {
  SteadyTime until = SteadyClock::now() + kAwake;
  while (true) {
    std::uint32_t state = 0;
    for (int i = 0; i < kLooksPerTime; ++i) {
      state = state_.load(std::memory_order_acquire);
      if (is_news(state, last)) return state;
      if ((state & kRest) != 0) break;
      relax();
    }
    if ((state & kRest) == 0 && SteadyClock::now() < until) continue;
    sleep(last);
    until = SteadyClock::now() + kAwake;
  }
}

void Pool::sleep(std::uint32_t last) {
  const std::uint32_t bell = bell_.load(std::memory_order_seq_cst);
  asleep_.store(true, std::memory_order_seq_cst);
  if (!is_news(state_.load(std::memory_order_seq_cst), last)) bell_.wait(bell, std::memory_order_acquire);
}

}  // namespace kinglet::engine
