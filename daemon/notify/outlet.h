// SPDX-License-Identifier: Apache-2.0
// Why: what waits for one service: which messages are taken at all, which goes out when, again later and later, given
// up at last. The time comes in as a value and nothing here waits, so that hours of it are tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "daemon/notify/message.h"
#include "daemon/notify/rule.h"
#include "daemon/notify/status.h"
#include "daemon/notify/target.h"
#include "daemon/outgoing/answer.h"
#include "daemon/tell/backoff.h"
#include "daemon/tell/outbox.h"

namespace kinglet::daemon::notify {

// A service and what it is to be told.
struct Wish {
  Target target;
  Rule rule;
  bool operator==(const Wish&) const = default;
};

struct OutletRule {
  std::chrono::milliseconds first_pause{1'000};
  std::chrono::milliseconds longest_pause{300'000};
  std::chrono::milliseconds old_news{3'600'000};   // after it a message is not worth a try any more
  std::chrono::milliseconds first_picture{2'000};  // is waited for so long
  std::chrono::milliseconds best_picture{5'000};
  std::chrono::milliseconds trouble{20'000};  // is told when it lasts so long
  std::size_t most_waiting = 20;
};

enum class Awaits : std::uint8_t { kNothing, kFirstPicture, kBestPicture };

struct Letter {
  Message message;
  std::string visit;  // that it is about, and of which a picture is waited for; empty: about none
  std::optional<std::pair<Part, std::string>> trouble;  // that it is about
  Awaits awaits = Awaits::kNothing;
  SteadyTime noted;          // when it happened
  SteadyTime due;            // not sent before
  int tries = 0;             // that were begun
  std::uint64_t missed = 0;  // of Outbox: gaps do not wait here
  bool posted = false;
  [[nodiscard]] bool is_on_its_way() const { return posted; }
};

struct Condition {
  Part part = Part::kCamera;
  std::string camera;  // which, where there are several
  bool bad = false;
  std::string detail;  // why, in a line
};

// The picture of a visit, its best one only or any; empty: not yet, or none.
using PictureOf = std::function<std::string(const std::string& visit, bool best)>;

// Thread-bound. `local` is the time of day, minutes since local midnight.
class Outlet {
 public:
  Outlet(Wish wish, OutletRule rule);

  [[nodiscard]] const Wish& wish() const { return wish_; }
  [[nodiscard]] const Status& status() const { return status_; }
  // In the quiet hours of the rule.
  [[nodiscard]] bool is_quiet(std::chrono::minutes local) const;

  // Is it time to tell that this visit began? That is when it begins, or later and once, when it has become what is
  // wished: a bird is often named better than at first. What began before this listened is not news.
  [[nodiscard]] bool tells_begin(const visits::BookedVisit& booked, bool begins);
  // The visit has ended.
  void forget(const std::string& visit) { std::erase(unwished_, visit); }
  // About a visit: held back in quiet hours and when there were enough within the hour. `language`: of the message.
  void offer(Message message, std::string visit, Awaits awaits, Language language, SteadyTime now,
             std::chrono::minutes local);
  // About anything else: as it is.
  void add(Message message, SteadyTime now);
  // How a part of the daemon is; the message when that is news for this service.
  void look(const Condition& condition, const Place& place, SteadyTime now, std::chrono::minutes local);
  // The rule's time of a local day, once a day, when it has come.
  [[nodiscard]] std::optional<std::chrono::local_seconds> due_digest(std::chrono::local_seconds now);
  // That one could not be made: it is due again, for as long as it would have come late.
  void keep_digest() { digest_.take_back(); }

  // The first one, when it is to be sent now, with the picture that was waited for; nullptr: none is. Valid until the
  // next call of anything that is not const. In quiet hours what waits goes as if it had happened in them.
  [[nodiscard]] Letter* due(SteadyTime now, std::chrono::minutes local, const PictureOf& picture);
  // A try of the letter that due() gave; while it lasts the letter is not left out. Own bug without one.
  void begin();
  struct Verdict {
    bool taken = false;
    bool is_news = false;  // the problem is another one than before, or there is none any more
  };
  // How the try ended: the letter is gone, or due again. A try that was called off changes nothing. Of trouble that
  // nobody took in time the next look() makes a new letter, if it lasts.
  Verdict judge(const outgoing::Answer& answer, SteadyTime now, WallTime wall);
  // Any answer of the service, to what was sent by hand as well: it is asked nothing before it wishes to be.
  void heed(const outgoing::Answer& answer, SteadyTime now);
  // At the end: gives how many nobody was told.
  std::size_t give_up();

 private:
  void push(Letter letter);
  void drop(const Letter& letter);
  void keep_quiet();

  const Wish wish_;
  const OutletRule rule_;
  Outbox<Letter> outbox_;
  Backoff backoff_;
  Allowance allowance_;
  std::map<std::pair<Part, std::string>, TroubleWatch> watches_;  // of each part, by the camera's name
  DigestClock digest_;
  SteadyTime rests_until_{};          // the service wishes to be asked nothing before
  std::deque<std::string> unwished_;  // visits that began, and not as what is wished
  Status status_;
};

}  // namespace kinglet::daemon::notify
