// SPDX-License-Identifier: Apache-2.0
// Why: a message to another program for what happens, one after the other, again when it was not taken. Nothing else
// waits for that program: while it stalls the newest messages wait here, and the rest are counted.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "daemon/event_bus.h"
#include "daemon/webhook/post.h"
#include "daemon/webhook/status.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

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

// The links of a visit as they are now, JSON; empty: not yet all of them, or no such visit. Asked on the own thread.
using LinksOfVisit = std::function<std::string(const std::string& id)>;

// Owns the thread "webhook". status() is thread-safe; start() and stop() belong to the owner.
class Sender {
 public:
  Sender(SenderOptions options, EventBus& events, LinksOfVisit links, LogSink log);
  ~Sender() { stop(); }

  void start();
  void stop();  // what waits is lost
  [[nodiscard]] Status status() const;

 private:
  struct Message {
    std::string id;
    EventType type;
    std::string json;
    SteadyTime noted;
    SteadyTime due;
    int tries = 0;
  };
  void run(const std::stop_token& stop);
  void hear_events(std::chrono::milliseconds patience);
  void note(const EventBus::Told& told);
  // Is the first one to be sent now? Its pictures may still be on their way.
  [[nodiscard]] bool complete(Message& message);
  void send(const std::stop_token& stop);
  [[nodiscard]] Result<Request> request_for(const Message& message) const;
  void judge(const Answer& answer);

  const SenderOptions options_;
  EventBus& events_;
  const LinksOfVisit links_;
  const LogSink log_;

  // The thread's own.
  std::shared_ptr<EventBus::Reader> reader_;
  std::deque<Message> waiting_;
  std::minstd_rand random_;
  std::string told_error_;

  mutable Mutex mutex_;
  Status status_ KINGLET_GUARDED_BY(mutex_);
  std::jthread thread_;  // last: joined first
};

// The address without what may be secret in it.
[[nodiscard]] std::string shown_url(std::string_view url);

}  // namespace kinglet::daemon::webhook
