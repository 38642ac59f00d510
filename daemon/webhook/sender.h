// SPDX-License-Identifier: Apache-2.0
// Why: a message to another program for what happens, one after the other, again when it was not taken. Nothing else
// waits for that program: while it stalls the newest messages wait here, and the rest are counted.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/outgoing/post.h"
#include "daemon/tell/clock.h"
#include "daemon/tell/listening_thread.h"
#include "daemon/webhook/deliveries.h"
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
  std::chrono::milliseconds timeout{10'000};
  DeliveryRule delivery;
  Clock clock = {};
};

// Owns the thread "webhook". status() is thread-safe. At a stop what waits is still told, for a second at most and not
// again where that fails; the rest is counted as dropped.
class Sender final : public ListeningThread {
 public:
  // `with_pictures` is asked on the own thread.
  Sender(SenderOptions options, EventBus& events, VisitWithPictures with_pictures, LogSink log);
  ~Sender() { stop(); }

  [[nodiscard]] Status status() const;

 private:
  void run(const std::stop_token& stop) override;
  void note(const EventBus::Told& told) override;
  [[nodiscard]] std::string body_of(const Delivery& delivery) const;
  bool send(const std::stop_token& stop);
  void say_goodbye(const std::stop_token& stop);
  void count_untold();
  // Until a stop, and then for as long as a goodbye may take.
  [[nodiscard]] bool has_time(const std::stop_token& stop);
  [[nodiscard]] Result<outgoing::Request> request_for(const Delivery& delivery) const;
  bool judge(const Answer& answer);

  const SenderOptions options_;
  const LogSink log_;

  // The thread's own.
  Deliveries deliveries_;
  std::optional<SteadyTime> end_;  // of the goodbye, once it began

  mutable Mutex mutex_;
  Status status_ KINGLET_GUARDED_BY(mutex_);
};

// The address without what may be secret in it.
[[nodiscard]] std::string shown_url(std::string_view url);

}  // namespace kinglet::daemon::webhook
