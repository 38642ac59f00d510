// SPDX-License-Identifier: Apache-2.0
// Why: which messages an owner wishes, and how many. Times come in as values and nothing here waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/units.h"
#include "visits/book.h"

namespace kinglet::daemon::notify {

// What a message can be about.
struct Events {
  bool visit_start = false;
  bool visit_end = false;
  bool camera = false;
  bool disk = false;
  bool operator==(const Events&) const = default;
};

// One of several is enough; none of them: every visit.
struct Only {
  bool first_today = false;
  bool first_season = false;
  bool first_ever = false;
  bool unusual = false;
  bool operator==(const Only&) const = default;
};

struct Rule {
  Events events;
  std::vector<std::string> species;  // any of their names, or of their genus; empty: all
  Only only;
  std::optional<DayHours> quiet;
  int at_most = 12;  // messages about visits in an hour
  bool picture = true;
  std::optional<std::chrono::minutes> digest;  // when, of the local day

  bool operator==(const Rule&) const = default;
};

// kConfig: "KEY: what is wrong".
[[nodiscard]] Result<Events> parse_events(const std::vector<std::string>& words);
[[nodiscard]] Result<Only> parse_only(const std::vector<std::string>& words);

[[nodiscard]] bool wants(const Rule& rule, const visits::BookedVisit& booked);

// Thread-bound.
class Allowance {
 public:
  explicit Allowance(int at_most) : at_most_(at_most) {}
  // One more, now? What was refused is counted until take_refused().
  [[nodiscard]] bool take(SteadyTime now);
  std::uint64_t take_refused() { return std::exchange(refused_, 0); }

 private:
  int at_most_;
  std::deque<SteadyTime> taken_;  // within the hour
  std::uint64_t refused_ = 0;
};

// What is wrong with a part of the daemon is told once it has lasted, and that it is over.
class TroubleWatch {
 public:
  enum class News : std::uint8_t { kNone, kBegan, kOver };
  explicit TroubleWatch(std::chrono::milliseconds after) : after_(after) {}
  // `may_tell`: not in quiet hours; what still lasts after them is told then.
  [[nodiscard]] News look(bool bad, bool may_tell, SteadyTime now);
  // The newest news was not told after all: what is so later still is news then.
  void take_back() { told_ = !told_; }

 private:
  std::chrono::milliseconds after_;
  std::optional<SteadyTime> since_;
  bool told_ = false;
};

// Once a local day, at its time or soon after it. One that was to come before this began is not made up for, nor one
// that the clock leapt over when it was set; after a clock that was hours ahead the next one comes at its time.
class DigestClock {
 public:
  // Its time, when it is due now.
  [[nodiscard]] std::optional<std::chrono::local_seconds> look(std::chrono::minutes at, std::chrono::local_seconds now);
  // What was due at the newest look did not go out: it is due again, while that is soon after its time.
  void take_back() { *passed_ -= std::chrono::days(1); }

 private:
  std::optional<std::chrono::local_days> passed_;  // the newest day whose time had come when it was last looked
  std::chrono::local_seconds looked_{};            // when that was
};

}  // namespace kinglet::daemon::notify
