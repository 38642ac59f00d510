// SPDX-License-Identifier: Apache-2.0
// Why: cameras whose turns are of very different length have their shares all the same, with the time as a value.
//
// A camera's demand is the time that it would have of the answer thread if it were alone: what gate.max_fps and
// look.budget let pass of its frames, its regions, its looks of the detector. Who demands no more than an equal part
// has his demand, and what he leaves is for the others in equal parts (max-min). A run of the model or of the detector
// is not interrupted: frames of a camera that come during one of another's are one frame, so nobody's share is more
// than he would demand with frames as far apart as the longest run.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <iostream>
#include <random>

#include "daemon/answer/turns.h"
#include "daemon/line/gate/gate.h"
#include "daemon/line/regions/look_budget.h"

namespace kinglet::daemon {
namespace {

using std::chrono::microseconds;
using Span = SteadyClock::duration;

constexpr std::chrono::hours kWatchBegin{1};
constexpr std::chrono::seconds kWatchWarm{5};
constexpr std::chrono::seconds kWatchWindow{60};
constexpr microseconds kRateOnly{100};       // a frame that the gate takes for too soon
constexpr microseconds kNothingMoves{1200};  // one in which nothing moves

Span span_of(double seconds) { return std::chrono::duration_cast<Span>(Seconds(seconds)); }

struct Habit {
  Span period{};             // between frames
  std::vector<int> regions;  // of each look, over and over; 0: nothing moves
  Span region{};             // a run of the model, with its preparation
  Span detector{};           // a look; 0: there is none
  double max_fps = 10;
  double budget = 0.8;
};

class Watcher {
 public:
  Watcher(Habit habit, unsigned seed, std::size_t cameras)
      : habit_(std::move(habit)),
        cameras_(cameras),
        random_(seed),
        gate_({.max_fps = habit_.max_fps}),
        budget_(habit_.budget),
        next_(kWatchBegin + vary(habit_.period)) {}

  [[nodiscard]] Span next_frame() const { return next_; }
  [[nodiscard]] bool waits() const { return waits_ || !parts_.empty(); }
  [[nodiscard]] Span served() const { return served_; }
  [[nodiscard]] Span longest_wait() const { return longest_wait_; }

  void come(Span now) {
    for (; next_ <= now; next_ += vary(habit_.period)) {
      waits_ = true;
      captured_at_ = SteadyTime(next_);
      ++sequence_;
    }
  }
  // What the next part of its answer takes.
  Span turn(Span now, bool whole) {
    if (parts_.empty()) begin(SteadyTime(now));
    Span taken{};
    do {
      taken += parts_.front();
      parts_.pop_front();
    } while (whole && !parts_.empty());
    served_ += taken;
    return taken;
  }

 private:
  Span vary(Span span) { return span_of(Seconds(span).count() * std::uniform_real_distribution(0.9, 1.1)(random_)); }
  void begin(SteadyTime now) {
    waits_ = false;
    longest_wait_ = std::max(longest_wait_, now - captured_at_);
    const camera::Frame frame(camera::FrameView{}, {.sequence = sequence_, .captured_at = captured_at_}, {});
    if (gate_.decide(frame, {.now = now})) return parts_.push_back(kRateOnly);
    const int regions = habit_.regions[looks_++ % habit_.regions.size()];
    if (regions == 0) return parts_.push_back(kNothingMoves);
    const bool has_detector = habit_.detector > Span{};
    const LookBudget::Beside beside{
        .cost = Seconds(habit_.detector).count(), .now = now, .interval = gate_.interval(), .cameras = cameras_};
    budget_.note_frame(sequence_, captured_at_);
    const auto count = std::min(static_cast<std::size_t>(regions), budget_.allows(gate_.interval(), cameras_));
    const auto asked = has_detector ? std::min(count, budget_.allows_beside(count, beside)) : 0;
    parts_.insert(parts_.end(), asked, habit_.detector);
    parts_.insert(parts_.end(), count, habit_.region);
    budget_.note_cost(count * habit_.region, count);
    if (has_detector) budget_.note_used(count * habit_.region + asked * habit_.detector, beside);
  }

  Habit habit_;
  std::size_t cameras_;  // that share look.budget
  std::mt19937 random_;
  Gate gate_;
  LookBudget budget_;
  Span next_;
  std::uint64_t sequence_ = 0;
  SteadyTime captured_at_{};
  bool waits_ = false;
  std::size_t looks_ = 0;
  std::deque<Span> parts_;
  Span served_{};
  Span longest_wait_{};
};

// What each has of the window, in seconds.
std::vector<double> watch(std::vector<Watcher>& watchers, bool whole) {
  Turns turns(watchers.size());
  std::vector<Span> before;
  Span now = kWatchBegin;
  while (now < kWatchBegin + kWatchWarm + kWatchWindow) {
    if (before.empty() && now >= kWatchBegin + kWatchWarm) {
      for (const Watcher& one : watchers) before.push_back(one.served());
    }
    for (Watcher& one : watchers) one.come(now);
    const auto turn = turns.next([&](std::size_t i) { return watchers[i].waits(); });
    if (!turn) {
      now = std::ranges::min_element(watchers, {}, &Watcher::next_frame)->next_frame();
      continue;
    }
    const Span taken = watchers[turn->camera].turn(now, whole);
    now += taken;
    turns.end(*turn, taken);
  }
  std::vector<double> had;
  for (std::size_t i = 0; i < watchers.size(); ++i) had.push_back(Seconds(watchers[i].served() - before[i]).count());
  return had;
}

double demand(const Habit& habit, unsigned seed, std::size_t cameras) {
  std::vector<Watcher> alone;
  alone.emplace_back(habit, seed, cameras);
  return watch(alone, false)[0];
}

std::vector<double> fair_shares(const std::vector<Habit>& habits, unsigned seed) {
  std::vector<double> demands;
  Span longest_run{};
  for (const Habit& one : habits) {
    demands.push_back(demand(one, seed, habits.size()));
    longest_run = std::max({longest_run, one.region, one.detector});
  }
  std::vector<std::size_t> order(habits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return demands[i]; });
  std::vector<double> fair(habits.size());
  double left = Seconds(kWatchWindow).count();
  for (std::size_t i = 0; i < order.size(); ++i) {
    fair[order[i]] = std::min(demands[order[i]], left / static_cast<double>(order.size() - i));
    left -= fair[order[i]];
  }
  for (std::size_t i = 0; i < habits.size(); ++i) {
    Habit apart = habits[i];
    apart.period = std::max(apart.period, longest_run);
    fair[i] = std::min(fair[i], demand(apart, seed, habits.size()));
  }
  return fair;
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  double of(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }
  unsigned seed() { return static_cast<unsigned>(random_()); }
  // Two to four cameras with one model and, where they have one, one detector; the first floods, and others may.
  std::vector<Habit> cameras() {
    const double run = of(0.005, 0.06);
    const double detector = run * of(1, 8);
    const double budget = of(0, 1) < 0.5 ? 0.8 : 0;
    const double max_fps = std::array{5.0, 10.0, 30.0}[static_cast<std::size_t>(of(0, 3))];
    std::vector<Habit> habits;
    const int count = 2 + static_cast<int>(of(0, 3));
    for (int i = 0; i < count; ++i) {
      const bool floods = i == 0 || of(0, 1) < 0.2;
      Habit one{.period = span_of(1 / (floods ? of(1 / run, 250) : std::exp(of(0, std::log(30))))),
                .regions = regions(!floods),
                .region = span_of(run * of(1, 1.5)),
                .detector = of(0, 1) < 0.5 ? span_of(detector) : Span{},
                .max_fps = floods ? 1000 : max_fps,
                .budget = budget};
      habits.push_back(std::move(one));
    }
    return habits;
  }

 private:
  std::vector<int> regions(bool may_be_none) {
    const double none = may_be_none && of(0, 1) < 0.5 ? of(0, 0.6) : 0;
    const double several = of(0, 1);
    const double most = of(1, 7);
    std::vector<int> made(static_cast<std::size_t>(of(1, 9)));
    for (int& one : made) {
      one = of(0, 1) < several ? static_cast<int>(of(1, most)) : 1;
      if (of(0, 1) < none) one = 0;
    }
    if (std::ranges::max(made) == 0) made[0] = 1;
    return made;
  }
  std::mt19937 random_;
};

// Of what is fair, at worst, over so many drawn cases.
double worst_share(int cases, bool whole) {
  Draw draw(29);
  double worst = 1;
  for (int i = 0; i < cases; ++i) {
    const std::vector<Habit> habits = draw.cameras();
    const unsigned seed = draw.seed();
    const std::vector<double> fair = fair_shares(habits, seed);
    std::vector<Watcher> watchers;
    for (const Habit& one : habits) watchers.emplace_back(one, seed, habits.size());
    const std::vector<double> had = watch(watchers, whole);
    for (std::size_t k = 0; k < habits.size(); ++k) {
      const double share = had[k] / fair[k];
      if (!whole) {
        EXPECT_GE(share, 0.9) << "case " << i << ", camera " << k << " of " << habits.size();
      }
      worst = std::min(worst, share);
    }
  }
  return worst;
}

TEST(UnequalTurns, NobodyHasATenthLessThanHisShareOfAMinuteBesideOneThatFloods) {
  std::cout << "the worst of 300 cases: " << worst_share(300, false) << " of its share\n";
}

TEST(UnequalTurns, WithWholeAnswersInATurnOneWouldHaveMuchLess) { EXPECT_LT(worst_share(150, true), 0.7); }

TEST(UnequalTurns, ALoneBirdWaitsForNoMoreThanTheRunThatGoesOn) {
  using std::chrono::milliseconds;
  const Habit floods{.period = milliseconds(4),
                     .regions = {6},
                     .region = milliseconds(50),
                     .detector = milliseconds(120),
                     .max_fps = 1000,
                     .budget = 0};
  const Habit lone{.period = milliseconds(500), .regions = {1}, .region = milliseconds(50)};
  std::vector<Watcher> watchers;
  for (const Habit& one : {floods, lone, floods, floods}) watchers.emplace_back(one, 7, 4);
  watch(watchers, false);
  EXPECT_LE(watchers[1].longest_wait(), floods.detector);
  EXPECT_GE(watchers[1].longest_wait(), floods.region) << "it has to wait for some";
}

}  // namespace
}  // namespace kinglet::daemon
