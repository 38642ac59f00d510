// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "camera/process/process_family.h"
#include "daemon/machine/thread_entry.h"
#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

void ring(const FileDescriptor& bell) {
  const std::uint64_t one = 1;
  static_cast<void>(::write(bell.get(), &one, sizeof one));
}

// So that it is seen when it hangs.
constexpr std::chrono::seconds kTurn{10};

std::chrono::milliseconds until(SteadyTime deadline) {
  const SteadyTime now = SteadyClock::now();
  return std::chrono::ceil<std::chrono::milliseconds>(std::clamp(deadline, now, now + kTurn) - now);
}

}  // namespace

Signals::Signals(std::chrono::milliseconds limit, LogSink log)
    : limit_(limit), log_(std::move(log)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  const sigset_t signals = handled_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  thread_ = std::jthread([this](const std::stop_token& stop) { enter_thread(pulse_, [&] { listen(stop); }); });
}

Signals::~Signals() {
  thread_.request_stop();
  ring(wake_);
}

void Signals::listen(const std::stop_token& stop) {
  const sigset_t signals = handled_signals();
  const FileDescriptor heard(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  std::array<pollfd, 2> waiting{pollfd{heard.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0}};
  while (!stop.stop_requested()) {
    SteadyTime end_by;
    {
      MutexLock lock(mutex_);
      if (SteadyClock::now() >= end_by_) {
        log_(LogLevel::kWarning,
             format_text("the end takes longer than {}: {} is not waited for", Seconds(limit_), step_.load()));
        end_now();
      }
      end_by = end_by_;
    }
    const std::chrono::milliseconds patience = until(end_by);
    pulse_.beat(patience);
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(patience.count())) <= 0) continue;
    std::uint64_t rung = 0;
    static_cast<void>(::read(wake_.get(), &rung, sizeof rung));
    signalfd_siginfo info{};
    if (::read(heard.get(), &info, sizeof info) == sizeof info) take(static_cast<int>(info.ssi_signo));
  }
}

void Signals::take(int signal) {
  {
    MutexLock lock(mutex_);
    if (signal == SIGHUP) {
      reload_ = true;
    } else {
      if (!started_) end_now();
      end_ = true;
      end_by_ = std::min(end_by_, SteadyClock::now() + limit_);
    }
  }
  changed_.notify_all();
}

// Without destructors, which would wait for what is not waited for.
void Signals::end_now() {
  for (const std::string& file : files_) ::unlink(file.c_str());
  // While it starts there is only a process that proves a model: it ends with us by itself, and its death before ours
  // would be taken for the model's fault.
  if (started_) camera::ProcessFamily::kill_all_of_ours();
  std::_Exit(exit_code_);
}

void Signals::remove_at_end(std::vector<std::string> files) {
  MutexLock lock(mutex_);
  files_ = std::move(files);
}

void Signals::started() {
  MutexLock lock(mutex_);
  started_ = true;
}

Signals::Heard Signals::wait(std::chrono::milliseconds patience) {
  const SteadyTime deadline = SteadyClock::now() + patience;
  MutexLock lock(mutex_);
  while (!end_ && !reload_) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
  }
  if (end_) return Heard::kEnd;
  return std::exchange(reload_, false) ? Heard::kReload : Heard::kNothing;
}

bool Signals::end_is_wanted() const {
  MutexLock lock(mutex_);
  return end_;
}

void Signals::begin_end() {
  {
    MutexLock lock(mutex_);
    end_ = true;
    end_by_ = std::min(end_by_, SteadyClock::now() + limit_);
  }
  ring(wake_);
}

}  // namespace kinglet::daemon
