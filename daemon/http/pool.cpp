// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/pool.h"

#include <utility>

#include "daemon/thread_entry.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {

Pool::Pool(std::size_t threads, std::size_t most_waiting) : most_waiting_(most_waiting) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this, i] { enter_thread(format_text("http-{}", i).c_str(), [this] { work(); }); });
  }
}

Pool::~Pool() { stop(); }

bool Pool::add(std::function<void()> job) {
  {
    MutexLock lock(mutex_);
    if (stopping_ || waiting_.size() >= most_waiting_) return false;
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

bool Pool::crowded() const {
  MutexLock lock(mutex_);
  return !waiting_.empty();
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
    std::function<void()> job;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stopping_) changed_.wait(mutex_);
      if (waiting_.empty()) return;
      job = std::move(waiting_.front());
      waiting_.pop_front();
    }
    job();
  }
}

}  // namespace kinglet::daemon::http
