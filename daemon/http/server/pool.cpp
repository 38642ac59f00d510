// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/pool.h"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <tuple>
#include <utility>

#include "daemon/machine/thread_entry.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::size_t index_of(Standing standing) { return static_cast<std::size_t>(standing); }
constexpr std::size_t kStranger = index_of(Standing::kStranger);
constexpr std::size_t kOwner = index_of(Standing::kOwner);
constexpr std::size_t kMachine = index_of(Standing::kMachine);

// So that it is seen when it hangs.
constexpr std::chrono::seconds kPulse{10};
// A request is read in 15 s (daemon/http/server/deadline_stream.h), and each of the five posted pictures that may be
// there (daemon/app/app_parts.cpp) is taken up within 10 once none is before it.
constexpr std::chrono::seconds kLongestRequest{120};

std::size_t less(std::size_t from, std::size_t taken) { return from - std::min(from, taken); }

}  // namespace

Pool::Pool(PoolLimits limits) : limits_(limits) {
  threads_.reserve(limits_.threads);
  for (std::size_t i = 0; i < limits_.threads; ++i) {
    Pulse& pulse = pulses_.emplace_back(format_text("http-{}", i));
    threads_.emplace_back([this, &pulse] { enter_thread(pulse, [this, &pulse] { work(pulse); }); });
  }
}

Pool::~Pool() { stop(); }

Pool::Seat::Seat(Pool& pool, Visitor visitor) : pool_(pool), visitor_(std::move(visitor)) {
  MutexLock lock(pool_.mutex_);
  pool_.sit(visitor_);
}

Pool::Seat::~Seat() {
  {
    MutexLock lock(pool_.mutex_);
    pool_.leave(visitor_);
    if (pulse_ != nullptr) --pool_.busy_;
  }
  // This address may have a turn again, and another thread may be the one that is free.
  pool_.changed_.notify_one();
}

void Pool::Seat::expect_answer() {
  if (pulse_ != nullptr) pulse_->beat(kLongestRequest);
}

void Pool::Seat::expect_nothing() {
  if (pulse_ != nullptr) pulse_->rest();
}

bool Pool::Seat::move_to(const Visitor& visitor) {
  bool moved = true;
  {
    MutexLock lock(pool_.mutex_);
    const bool rises = visitor.standing >= visitor_.standing && visitor.limit_key == visitor_.limit_key;
    pool_.leave(visitor_);
    moved = rises || pool_.may_start(visitor);
    if (moved) visitor_ = visitor;
    pool_.sit(visitor_);
  }
  pool_.changed_.notify_one();
  return moved;
}

bool Pool::Seat::crowded() const {
  MutexLock lock(pool_.mutex_);
  if (streaming_) return false;
  // Each free thread takes one of them, on a busy machine only after a while.
  std::size_t free = pool_.limits_.threads - pool_.busy_;
  return std::ranges::any_of(pool_.waiting_, [&](const Job& job) KINGLET_REQUIRES(pool_.mutex_) {
    if (free > 0 && pool_.may_start(job.visitor)) {
      --free;
      return false;
    }
    pool_.leave(visitor_);
    const bool wanted = pool_.may_start(job.visitor);
    pool_.sit(visitor_);
    return wanted;
  });
}

std::shared_ptr<void> Pool::Seat::hold_stream() {
  {
    MutexLock lock(pool_.mutex_);
    ++pool_.streams_;
    ++pool_.held_[visitor_.limit_key].streams;
    --pool_.working_.at(index_of(visitor_.standing));
    streaming_ = true;
  }
  pool_.changed_.notify_one();
  return {this, [](Seat* seat) { seat->pool_.end_stream(*seat); }};
}

void Pool::end_stream(Seat& seat) {
  MutexLock lock(mutex_);
  seat.streaming_ = false;
  --streams_;
  --held_[seat.visitor_.limit_key].streams;
  ++working_.at(index_of(seat.visitor_.standing));
}

void Pool::sit(const Visitor& visitor) {
  ++held_[visitor.limit_key].threads;
  ++working_.at(index_of(visitor.standing));
}

void Pool::leave(const Visitor& visitor) {
  const auto own = held_.find(visitor.limit_key);
  if (--own->second.threads == 0) held_.erase(own);
  --working_.at(index_of(visitor.standing));
}

Pool::Held Pool::held_by(const std::string& key) const {
  const auto found = held_.find(key);
  return found == held_.end() ? Held{} : found->second;
}

std::size_t Pool::demand_of(const std::string& key) const {
  const auto waits = [&](const Job& job) { return job.visitor.limit_key == key; };
  return held_by(key).threads + static_cast<std::size_t>(std::ranges::count_if(waiting_, waits));
}

std::size_t Pool::most_threads(std::size_t standing) const {
  const std::size_t left = less(limits_.threads, streams_);
  if (standing == kMachine) return left;
  if (standing == kOwner) return less(left, limits_.kept);
  const std::size_t others = less(left, 2 * limits_.kept);
  return standing == kStranger ? (others + 1) / 2 : others;
}

std::size_t Pool::most_waiting(std::size_t standing) const {
  if (standing == kMachine) return limits_.waiting + 2 * limits_.waiting_kept;
  if (standing == kOwner) return limits_.waiting + limits_.waiting_kept;
  return standing == kStranger ? limits_.waiting / 2 : limits_.waiting;
}

bool Pool::may_start(const Visitor& visitor) const {
  const Held own = held_by(visitor.limit_key);
  if (own.threads >= limits_.working_of_address) return false;
  const std::size_t standing = index_of(visitor.standing);
  // With many streams on, the threads that are left for requests are few.
  const std::size_t share = less(most_threads(std::max(standing, kStranger + 1)), limits_.left_to_others);
  if (own.threads - own.streams >= std::max<std::size_t>(1, share)) return false;
  std::size_t working = 0;
  for (std::size_t i = 0; i < kStandings; ++i) {
    working += working_.at(i);
    if (i >= standing && working >= most_threads(i)) return false;
  }
  return true;
}

std::deque<Pool::Job>::iterator Pool::next() {
  if (stopping_) return waiting_.begin();
  auto best = waiting_.end();
  for (auto job = waiting_.begin(); job != waiting_.end(); ++job) {
    if (!may_start(job->visitor)) continue;
    if (best == waiting_.end() || held_by(job->visitor.limit_key).threads < held_by(best->visitor.limit_key).threads) {
      best = job;
    }
  }
  return best;
}

std::size_t Pool::full_at(const Visitor& visitor) const {
  std::size_t all = 0;
  for (std::size_t i = 0; i < kStandings; ++i) {
    const auto is_such = [&](const Job& job) { return index_of(job.visitor.standing) == i; };
    all += working_.at(i) + static_cast<std::size_t>(std::ranges::count_if(waiting_, is_such));
    if (i >= index_of(visitor.standing) && all >= most_threads(i) + most_waiting(i)) return i;
  }
  return kStandings;
}

std::deque<Pool::Job>::iterator Pool::greediest(const Visitor& visitor, std::size_t up_to) {
  const std::size_t own = demand_of(visitor.limit_key) + 1;
  const auto is_much = [&](std::size_t demand) { return demand > limits_.working_of_address; };
  auto found = waiting_.end();
  std::tuple<bool, std::size_t, std::size_t> worst{};
  for (auto job = waiting_.begin(); job != waiting_.end(); ++job) {
    const std::size_t standing = index_of(job->visitor.standing);
    if (standing > up_to) continue;
    const std::size_t demand = demand_of(job->visitor.limit_key);
    const bool is_lower = standing < index_of(visitor.standing);
    // Who wants much pushes nobody out who wants less, of whatever standing.
    if (demand <= own && (!is_lower || is_much(own))) continue;
    // Who wants much first, then the lowest standing, then who wants the most; its newest, which has waited the least.
    const std::tuple rank{is_much(demand), kStandings - standing, demand};
    if (found == waiting_.end() || rank >= worst) {
      found = job;
      worst = rank;
    }
  }
  return found;
}

bool Pool::add(Job job) {
  std::function<void()> refuse;
  {
    MutexLock lock(mutex_);
    const std::string& key = job.visitor.limit_key;
    if (stopping_ || demand_of(key) >= limits_.working_of_address + limits_.waiting_of_address) return false;
    if (const std::size_t full = full_at(job.visitor); full < kStandings) {
      const auto other = greediest(job.visitor, full);
      if (other == waiting_.end()) return false;
      refuse = std::move(other->refuse);
      waiting_.erase(other);
    }
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
  if (refuse) refuse();
  return true;
}

void Pool::stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::jthread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::vector<const Pulse*> Pool::pulses() const {
  return std::views::transform(pulses_, [](const Pulse& pulse) { return &pulse; }) | std::ranges::to<std::vector>();
}

void Pool::work(Pulse& pulse) {
  for (;;) {
    Job job;
    {
      MutexLock lock(mutex_);
      auto found = next();
      while (found == waiting_.end() && !(stopping_ && waiting_.empty())) {
        pulse.beat(kPulse);
        changed_.wait_until(mutex_, SteadyClock::now() + kPulse);
        found = next();
      }
      if (found == waiting_.end()) return;
      job = std::move(*found);
      waiting_.erase(found);
      sit(job.visitor);
      ++busy_;
    }
    Seat seat(*this, job.visitor, pulse, Seat::Taken{});
    seat.expect_answer();
    job.run(seat);
  }
}

}  // namespace kinglet::daemon::http
