// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/side_thread.h"

#include <utility>

#include "daemon/machine/thread_entry.h"

namespace kinglet::daemon {

SideThread::SideThread(const char* name) : thread_([this, name] { enter_thread(name, [this] { loop(); }); }) {}

SideThread::~SideThread() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
}

void SideThread::run(const std::function<void()>& work, const std::function<void()>& own) {
  {
    MutexLock lock(mutex_);
    work_ = &work;
  }
  changed_.notify_all();
  std::exception_ptr own_error;
  try {
    own();
  } catch (...) {
    own_error = std::current_exception();
  }
  const std::exception_ptr error = wait();
  if (own_error) std::rethrow_exception(own_error);
  if (error) std::rethrow_exception(error);
}

std::exception_ptr SideThread::wait() {
  MutexLock lock(mutex_);
  while (work_ != nullptr) changed_.wait(mutex_);
  return std::exchange(error_, nullptr);
}

void SideThread::loop() {
  while (true) {
    const std::function<void()>* work = nullptr;
    {
      MutexLock lock(mutex_);
      while (work_ == nullptr && !ends_) changed_.wait(mutex_);
      if (ends_) return;
      work = work_;
    }
    std::exception_ptr error;
    try {
      (*work)();
    } catch (...) {
      error = std::current_exception();
    }
    {
      MutexLock lock(mutex_);
      error_ = std::move(error);
      work_ = nullptr;
    }
    changed_.notify_all();
  }
}

}  // namespace kinglet::daemon
