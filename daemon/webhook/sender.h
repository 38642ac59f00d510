// SPDX-License-Identifier: Apache-2.0
// Why: a message to another program for what happens, one after the other, again when it was not taken. Nothing else
// waits for that program: while it stalls the newest messages wait here, and the rest are counted.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "daemon/tell/backoff.h"
#include "daemon/tell/event_bus.h"
#include "daemon/tell/outbox.h"
#include "daemon/webhook/post.h"
#include "daemon/webhook/status.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"
#include "engine/base/pulse.h"

namespace kinglet::daemon::webhook {

struct SenderOptions {
  std::string url;
  EventSet events;
  std::filesystem::path secret;        // files (read_secret), read for each message; empty: none
  std::filesystem::path token;         // "Authorization: Bearer"
  std::filesystem::path certificates;  // for https; empty: the system's
  std::string page;                    // "http://feeder.local:8420", for links; empty: none
  std::string boot_tag;
  std::chrono::milliseconds timeout{10'000};
  int tries = 6;  // of one message
  std::chrono::milliseconds first_pause{1'000};
  std::chrono::milliseconds longest_pause{60'000};
  std::size_t most_waiting = 100;
};

// A visit that ended as it is now, once its pictures are made; nothing: not yet, or no such visit. Asked on the own
// thread.
using VisitWithPictures = std::function<std::optional<visits::BookedVisit>(const std::string& id)>;

// Owns the thread "webhook". status() is thread-safe; start() and stop() belong to the owner.
class Sender {
 public:
  Sender(SenderOptions options, EventBus& events, VisitWithPictures with_pictures, LogSink log);
  ~Sender() { stop(); }

  void start();
  // What waits is still told, for a second at most and not again where that fails; the rest is counted as dropped.
  // begin_stop() waits for nothing.
  void begin_stop() { thread_.request_stop(); }
  void stop();
  [[nodiscard]] Status status() const;
  [[nodiscard]] const Pulse& pulse() const { return pulse_; }

 private:
  struct Message {
    std::string id;
    EventBus::Told told;
    SteadyTime noted;
    SteadyTime due;
    int tries = 0;
    std::uint64_t missed = 0;  // of a gap
    bool posted = false;       // now, without an answer yet
    [[nodiscard]] bool is_on_its_way() const { return posted; }
  };
  void run(const std::stop_token& stop);
  void hear_events(std::chrono::milliseconds patience);
  void note(const EventBus::Told& told);
  // Says how many were left out, once messages are taken again.
  void say_gap();
  // Is the first one to be sent now? Its pictures may still be on their way.
  [[nodiscard]] bool complete(Message& message);
  [[nodiscard]] std::string body_of(const Message& message) const;
  void send(const std::stop_token& stop);
  void say_goodbye(const std::stop_token& stop);
  void count_untold();
  // Until a stop, and then for as long as a goodbye may take.
  [[nodiscard]] bool has_time(const std::stop_token& stop);
  [[nodiscard]] Result<Request> request_for(const Message& message) const;
  void judge(const Answer& answer);

  Pulse pulse_{"webhook"};
  const SenderOptions options_;
  EventBus& events_;
  const VisitWithPictures with_pictures_;
  const LogSink log_;

  // The thread's own.
  std::shared_ptr<EventBus::Reader> reader_;
  Outbox<Message> outbox_;
  std::uint64_t gaps_ = 0;  // told
  Backoff backoff_;
  std::string told_error_;
  std::optional<SteadyTime> end_;  // of the goodbye, once it began

  mutable Mutex mutex_;
  Status status_ KINGLET_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: joined first
};

// The address without what may be secret in it.
[[nodiscard]] std::string shown_url(std::string_view url);

}  // namespace kinglet::daemon::webhook
