// SPDX-License-Identifier: Apache-2.0
// Why: tells phones what happens, for as long as the daemon runs and whatever their services do. Nothing else ever
// waits for it; the services wait for each other, one message at a time.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/notify/outlet.h"
#include "daemon/notify/services.h"
#include "daemon/tell/clock.h"
#include "daemon/tell/listening_thread.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon::notify {

struct NotifierOptions {
  Place place;
  OutletRule rule;
  Clock clock = {};
};

// What is asked on the notifier's own thread.
struct Sources {
  EventBus& events;
  PictureOf picture;
  std::function<std::vector<Condition>()> health;  // of all parts, each time the same ones
  // Who came in [since, until); an error: the history cannot be read.
  std::function<Result<Day>(WallTime since, WallTime until, std::string_view language)> seen;
  std::function<std::string()> newest_picture;  // of any visit; empty: none
  std::function<Language()> language;           // that messages speak from now on
};

// Owns the thread "notify". adopt(), status() and try_now() are thread-safe. At a stop what waits is not sent any more;
// it is counted and told in the log.
class Notifier final : public ListeningThread {
 public:
  Notifier(NotifierOptions options, Sources sources, LogSink log);
  ~Notifier() { stop(); }

  // These services from now on. What waits for one that stays as it is stays, too.
  void adopt(std::vector<Wish> wishes);
  // In the order of the wishes.
  [[nodiscard]] std::vector<Status> status() const;
  // One message at once, whatever the rule says. kNotFound: no such service; kUnavailable: it was not taken, and why;
  // kBusy: nobody came to it in time.
  [[nodiscard]] Result<void> try_now(const std::string& name, std::chrono::milliseconds patience);

 private:
  struct Trial {
    std::string name;
    std::shared_ptr<std::promise<Result<void>>> done;
  };

  void run(const std::stop_token& stop) override;
  void note(const EventBus::Told& told) override;
  void take_up();
  void run_trials(const std::stop_token& stop);
  [[nodiscard]] Result<void> try_one(const std::string& name, const std::stop_token& stop);
  void look_around(SteadyTime now);
  void send_digest(Outlet& outlet, std::chrono::local_seconds until, SteadyTime now);
  void send(Outlet& outlet, const std::stop_token& stop);
  [[nodiscard]] outgoing::Answer hand_over(const Target& target, const Message& message, const std::stop_token& stop);
  void show_status();
  [[nodiscard]] std::chrono::minutes local_time() const;
  [[nodiscard]] Place place() const;  // in the language of now

  const NotifierOptions options_;
  const Sources sources_;
  const LogSink log_;

  // The thread's own.
  std::vector<std::unique_ptr<Outlet>> outlets_;
  SteadyTime next_look_{};
  SteadyTime next_digest_{};
  std::string unread_;  // why the history could not be read for the newest digest; empty: it could

  mutable Mutex mutex_;
  std::optional<std::vector<Wish>> wishes_ KINGLET_GUARDED_BY(mutex_);  // not yet taken up
  std::vector<Trial> trials_ KINGLET_GUARDED_BY(mutex_);
  bool ended_ KINGLET_GUARDED_BY(mutex_) = false;
  std::vector<Status> status_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::daemon::notify
