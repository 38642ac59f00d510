// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/pool.h"

#include <algorithm>
#include <utility>

#include "daemon/thread_entry.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {

Pool::Pool(PoolLimits limits) : limits_(limits) {
  threads_.reserve(limits_.threads);
  for (std::size_t i = 0; i < limits_.threads; ++i) {
    threads_.emplace_back([this, i] { enter_thread(format_text("http-{}", i).c_str(), [this] { work(); }); });
  }
}

Pool::~Pool() { stop(); }

bool Pool::add(std::string address, std::function<void()> job) {
  {
    MutexLock lock(mutex_);
    if (stopping_ || is_full(address)) return false;
    waiting_.push_back({.address = std::move(address), .run = std::move(job)});
  }
  changed_.notify_one();
  return true;
}

bool Pool::is_full(const std::string& address) const {
  if (busy_ + waiting_.size() >= limits_.threads + limits_.waiting) return true;
  const auto found = working_.find(address);
  const std::size_t working = found == working_.end() ? 0 : found->second.threads;
  const auto waiting = static_cast<std::size_t>(std::ranges::count(waiting_, address, &Job::address));
  return working + waiting >= limits_.working_of_address + limits_.waiting_of_address;
}

bool Pool::has_room(const std::string& address) const {
  const auto found = working_.find(address);
  if (found == working_.end()) return true;
  const Held& own = found->second;
  if (own.threads >= limits_.working_of_address) return false;
  // With many streams on, the threads that are left for requests are few.
  const std::size_t left = limits_.threads - std::min(limits_.threads, streams_);
  return own.threads - own.streams < std::max<std::size_t>(1, left - std::min(left, limits_.left_to_others));
}

std::deque<Pool::Job>::iterator Pool::next() {
  auto job = waiting_.begin();
  while (job != waiting_.end() && !stopping_ && !has_room(job->address)) ++job;
  return job;
}

bool Pool::crowded() const {
  MutexLock lock(mutex_);
  return std::ranges::any_of(waiting_, [&](const Job& job) KINGLET_REQUIRES(mutex_) { return has_room(job.address); });
}

std::shared_ptr<void> Pool::hold_stream(const std::string& address) {
  {
    MutexLock lock(mutex_);
    ++streams_;
    ++working_[address].streams;
  }
  return {this, [address](Pool* pool) { pool->end_stream(address); }};
}

void Pool::end_stream(const std::string& address) {
  MutexLock lock(mutex_);
  --streams_;
  --working_[address].streams;
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

void Pool::work() {
  for (;;) {
    Job job;
    {
      MutexLock lock(mutex_);
      auto found = next();
      while (found == waiting_.end() && !(stopping_ && waiting_.empty())) {
        changed_.wait(mutex_);
        found = next();
      }
      if (found == waiting_.end()) return;
      job = std::move(*found);
      waiting_.erase(found);
      ++working_[job.address].threads;
      ++busy_;
    }
    job.run();
    {
      MutexLock lock(mutex_);
      const auto own = working_.find(job.address);
      if (--own->second.threads == 0) working_.erase(own);
      --busy_;
    }
    // This address may have a turn again, and another thread may be the one that is free.
    changed_.notify_one();
  }
}

}  // namespace kinglet::daemon::http
