// SPDX-License-Identifier: Apache-2.0
// Why: tells a broker what happens, for as long as the daemon runs and whatever the broker does. Nothing else ever
// waits for it: events come from the bus, and while the broker is away the newest of them wait here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/mqtt/agenda.h"
#include "daemon/mqtt/link.h"
#include "daemon/mqtt/payloads.h"
#include "daemon/mqtt/status.h"
#include "daemon/tell/backoff.h"
#include "daemon/tell/clock.h"
#include "daemon/tell/listening_thread.h"
#include "daemon/tell/outbox.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon::mqtt {

struct PublisherOptions {
  BrokerOptions broker;
  Topics topics;
  Device device;
  std::chrono::milliseconds stats_every{60'000};
  std::chrono::milliseconds first_pause{1'000};  // before the second try; doubles
  std::chrono::milliseconds longest_pause{60'000};
  std::size_t most_waiting = 100;  // visit events
  Clock clock = {};
};

// What is asked on the publisher's own thread. All but `events` may be empty.
struct Sources {
  EventBus& events;
  // Of the camera at this place: of the first, all that is no other's.
  std::function<std::optional<visits::BookedVisit>(std::size_t camera)> last_visit;  // that ended; nothing: none
  std::function<Today()> today;
  std::function<Figures(std::size_t camera)> figures;
  std::function<std::string(const std::string& visit)> crop;  // JPEG; empty: not yet, or none
  std::function<void(bool paused)> set_paused;
};

// Owns the thread "mqtt". status() is thread-safe. At a stop what has happened by then is still told, the retained
// state too, and then that we are gone: for a second at most.
class Publisher final : public ListeningThread {
 public:
  Publisher(PublisherOptions options, Sources sources, LogSink log);
  ~Publisher() { stop(); }

  [[nodiscard]] Status status() const;

 private:
  // Said instead of events that nobody was told.
  struct Gap {
    int number;  // of the message, on its way
    std::uint64_t missed;
  };
  struct Waiting {
    std::size_t camera = 0;
    std::string payload;
    std::optional<int> number;  // on its way, not yet acknowledged
    std::uint64_t missed = 0;   // gaps do not wait here
    [[nodiscard]] bool is_on_its_way() const { return number.has_value(); }
  };

  void run(const std::stop_token& stop) override;
  void note(const EventBus::Told& told) override;
  // What is told of one camera.
  struct Voice {
    Agenda agenda;
    std::optional<visits::BookedVisit> last_visit;
  };
  void refresh_last_visit(std::size_t camera, const EventBus::Told& told);
  void connect(const std::stop_token& stop, SteadyTime deadline);
  void say_goodbye();
  void count_untold();
  void give_up(const Error& error);
  [[nodiscard]] Result<void> converse();
  [[nodiscard]] Result<void> say_everything();
  [[nodiscard]] Result<void> say_what_is_due();
  [[nodiscard]] Result<void> say_waiting();
  [[nodiscard]] Result<void> say_gap();
  [[nodiscard]] Result<void> say_what_is_due(std::size_t camera, SteadyTime now);
  [[nodiscard]] Result<void> say_picture(std::size_t camera);
  [[nodiscard]] Result<void> retain(const std::string& topic, std::string_view payload, Quality quality);
  void acknowledged(int number);
  [[nodiscard]] Result<void> take_message(const Link::Message& message);
  // What the broker keeps of a camera that was here before.
  [[nodiscard]] Result<void> take_back(const std::string& camera);
  [[nodiscard]] Result<void> say_device();
  void set_state(LinkState state, std::string detail);

  const PublisherOptions options_;
  const Sources sources_;
  const LogSink log_;

  // The thread's own.
  std::unique_ptr<Link> link_;
  Protocol protocol_ = Protocol::k5;
  SteadyTime next_try_{};
  Backoff backoff_;
  int tries_ = 0;           // since the broker was there
  std::string told_error_;  // so that a broker that stays away is one line in the log
  Outbox<Waiting> outbox_;
  std::optional<Gap> gap_;
  std::vector<Voice> voices_;      // by camera
  std::vector<std::string> gone_;  // names of cameras of which the broker kept something

  mutable Mutex mutex_;
  Status status_ KINGLET_GUARDED_BY(mutex_);
};

// Takes back everything retained of this device ("kingletd --forget"). Blocks for some seconds at most.
[[nodiscard]] Result<void> forget(const BrokerOptions& broker, const Topics& topics);

}  // namespace kinglet::daemon::mqtt
