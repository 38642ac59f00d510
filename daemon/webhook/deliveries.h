// SPDX-License-Identifier: Apache-2.0
// Why: which message the other program gets when: one after the other, again later and later, given up at last, and how
// many were left out is told. The time comes in as a value and nothing here waits, so that hours of it are tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "daemon/outgoing/answer.h"
#include "daemon/tell/backoff.h"
#include "daemon/tell/event_bus.h"
#include "daemon/tell/outbox.h"
#include "engine/base/clock.h"

namespace kinglet::daemon::webhook {

using outgoing::Answer;
using outgoing::Outcome;

struct DeliveryRule {
  std::string boot_tag;  // of the ids of messages
  int tries = 6;         // of one message
  std::chrono::milliseconds first_pause{1'000};
  std::chrono::milliseconds longest_pause{60'000};
  std::size_t most_waiting = 100;
};

struct Delivery {
  std::string id;
  EventBus::Told told;
  SteadyTime noted;
  SteadyTime due;
  int tries = 0;
  std::uint64_t missed = 0;  // of a gap
  bool posted = false;       // now, without an answer yet
  [[nodiscard]] bool is_on_its_way() const { return posted; }
};

// A visit that ended as it is now, once its pictures are made; nothing: not yet, or no such visit.
using VisitWithPictures = std::function<std::optional<visits::BookedVisit>(const std::string& id)>;

// Thread-bound.
class Deliveries {
 public:
  Deliveries(DeliveryRule rule, VisitWithPictures with_pictures);

  // True: for it the oldest was left out.
  bool note(const EventBus::Told& told, SteadyTime now);
  void miss(std::uint64_t events) { outbox_.miss(events); }

  // The first one, when it is to be sent now; nullptr: none is. A visit that ended waits for its pictures, 5 s at most.
  // `wall` is when a gap is told.
  [[nodiscard]] Delivery* due(SteadyTime now, WallTime wall);
  // The first one, whenever it is due; nullptr: nothing waits. `complete`: its pictures are there, or it has none.
  struct First {
    Delivery* delivery = nullptr;
    bool complete = false;
  };
  [[nodiscard]] First first(SteadyTime now);

  // The first one goes out.
  Delivery& begin();
  struct Verdict {
    bool taken = false;
    bool given_up = false;
    bool is_news = false;  // the problem is another one than before, or there is none any more
  };
  // What became of it; one that was called off is as if it had not begun, its try counted.
  Verdict judge(const Answer& answer, SteadyTime now);

  [[nodiscard]] std::size_t size() const { return outbox_.size(); }  // without what tells of those left out

 private:
  // Says how many were left out, once messages are taken again.
  void tell_missed(SteadyTime now, WallTime wall);
  [[nodiscard]] bool complete(Delivery& delivery, SteadyTime now);

  const DeliveryRule rule_;
  const VisitWithPictures with_pictures_;
  Outbox<Delivery> outbox_;
  Backoff backoff_;
  std::uint64_t gaps_ = 0;  // told
  std::string problem_;     // of the newest answer
};

}  // namespace kinglet::daemon::webhook
