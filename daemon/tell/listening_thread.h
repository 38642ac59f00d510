// SPDX-License-Identifier: Apache-2.0
// Why: who tells others what happens (a broker, another program, phones) does so on a thread of its own that hears the
// bus: it begins, listens and ends alike.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "daemon/tell/clock.h"
#include "daemon/tell/event_bus.h"
#include "engine/base/pulse.h"

namespace kinglet::daemon {

// Who derives from it says what the thread does, and calls stop() at the begin of its own end. start(), begin_stop()
// and stop() belong to the owner.
class ListeningThread {
 public:
  ListeningThread(const ListeningThread&) = delete;
  ListeningThread& operator=(const ListeningThread&) = delete;

  // Hears what happens from now on.
  void start();
  void begin_stop() { thread_.request_stop(); }  // waits for nothing
  void stop();
  [[nodiscard]] const Pulse& pulse() const { return pulse_; }

 protected:
  ListeningThread(const char* name, EventBus& events, EventSet wished, Clock clock)
      : pulse_(name), events_(events), wished_(wished), clock_(std::move(clock)) {}
  ~ListeningThread() = default;

  // All of the thread's life; what follows is for it alone.
  virtual void run(const std::stop_token& stop) = 0;
  virtual void note(const EventBus::Told& told) = 0;
  // Notes all that has come; waits so long for the first.
  void hear_events(std::chrono::milliseconds patience);
  void beat(std::chrono::milliseconds within) { pulse_.beat(within); }
  [[nodiscard]] SteadyTime now() const { return clock_.now(); }
  [[nodiscard]] WallTime wall_now() const { return clock_.wall(); }
  // How long to wait really for something that is to be waited for so long.
  [[nodiscard]] std::chrono::milliseconds let_pass(std::chrono::milliseconds span) const {
    return clock_.let_pass(span);
  }

 private:
  Pulse pulse_;
  EventBus& events_;
  const EventSet wished_;
  const Clock clock_;
  std::shared_ptr<EventBus::Reader> reader_;
  std::jthread thread_;
};

}  // namespace kinglet::daemon
