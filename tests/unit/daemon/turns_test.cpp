// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "daemon/line/regions/look_budget.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;
using Duration = SteadyClock::duration;

struct Camera {
  Duration period;  // between frames
  Duration cost;    // of an answer
  Duration next{};  // frame
  bool waits = false;
  Duration served{};
};

// What each may have of a second when nobody gets more than he asks for, and nobody who asks for more gets less than
// another.
std::vector<double> shares(const std::vector<Camera>& cameras) {
  std::vector<double> wanted;
  for (const Camera& one : cameras) wanted.push_back(std::min(1.0, Seconds(one.cost) / Seconds(one.period)));
  std::vector<std::size_t> order(cameras.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return wanted[i]; });
  std::vector<double> shares(cameras.size());
  double left = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    shares[order[i]] = std::min(wanted[order[i]], left / static_cast<double>(order.size() - i));
    left -= shares[order[i]];
  }
  return shares;
}

// Whose frame is next, which then no longer waits; nothing: none waits, and `now` is when the next one comes.
std::optional<Turns::Turn> next_turn(Turns& turns, auto& cameras, Duration& now) {
  const auto turn = turns.next([&](std::size_t i) { return cameras[i].waits; });
  if (turn) {
    cameras[turn->camera].waits = false;
  } else {
    now = std::ranges::min(cameras, {}, [](const auto& camera) { return camera.next; }).next;
  }
  return turn;
}

// Cameras whose frames wait one at a time, the newest of each, before one who answers them for so long.
void answer(std::vector<Camera>& cameras, Duration length, std::mt19937& random) {
  std::uniform_real_distribution<double> about(0.75, 1.25);
  const auto vary = [&](Duration duration) { return std::chrono::duration_cast<Duration>(duration * about(random)); };
  Turns turns(cameras.size());
  for (Duration now{}; now < length;) {
    for (Camera& one : cameras) {
      for (; one.next <= now; one.next += vary(one.period)) one.waits = true;
    }
    const auto turn = next_turn(turns, cameras, now);
    if (!turn) continue;
    Camera& camera = cameras[turn->camera];
    const Duration taken = vary(camera.cost);
    now += taken;
    camera.served += taken;
    turns.end(*turn, taken);
  }
}

TEST(Turns, NobodyGetsATenthLessThanHisShareBesideOneThatFloods) {
  constexpr milliseconds kCost{100};
  constexpr std::chrono::seconds kLength{100};
  std::mt19937 random(29);
  std::uniform_int_distribution<int> count(1, 4);
  std::uniform_int_distribution<int> period(30, 900);
  for (int round = 0; round < 500; ++round) {
    std::vector<Camera> cameras{{.period = milliseconds(4), .cost = kCost}};
    for (int i = count(random); i > 0; --i) {
      cameras.push_back({.period = milliseconds(period(random)), .cost = kCost, .next = milliseconds(period(random))});
    }
    const std::vector<double> fair = shares(cameras);
    answer(cameras, kLength, random);
    for (std::size_t i = 0; i < cameras.size(); ++i) {
      EXPECT_GE(Seconds(cameras[i].served) / kLength, 0.9 * fair[i])
          << "round " << round << ", camera " << i << " of " << cameras.size() << ", a frame each "
          << cameras[i].period.count() << " ns";
    }
  }
}

TEST(Turns, WhoNeedsLongerForAFrameGetsFewerOfThem) {
  std::vector<Camera> cameras{{.period = milliseconds(4), .cost = milliseconds(400)},
                              {.period = milliseconds(4), .cost = milliseconds(100)}};
  std::mt19937 random(7);
  answer(cameras, std::chrono::minutes(10), random);
  EXPECT_NEAR(Seconds(cameras[0].served) / Seconds(cameras[1].served), 1, 0.02);
}

TEST(Turns, OneThatHadNothingToShowForAnHourIsNotServedAlone) {
  Turns turns(2);
  const auto serve = [&](bool first_waits) {
    const auto turn = turns.next([&](std::size_t i) { return i == 1 || first_waits; });
    turns.end(*turn, milliseconds(100));
    return turn->camera;
  };
  for (int i = 0; i < 36'000; ++i) EXPECT_EQ(serve(false), 1U);
  int first = 0;
  for (int i = 0; i < 100; ++i) first += serve(true) == 0 ? 1 : 0;
  EXPECT_GE(first, 50);
  EXPECT_LE(first, 50 + Turns::kKept / 2 + 1);
}

TEST(Turns, WhoseTurnATurnOfMinutesWasIsSoonServedAgain) {
  Turns turns(2);
  const auto both = [](std::size_t) { return true; };
  for (int i = 0; i < 10; ++i) turns.end(*turns.next(both), milliseconds(100));
  const Turns::Turn stopped = *turns.next(both);
  turns.end(stopped, std::chrono::minutes(10));
  int others = 0;
  for (auto turn = turns.next(both); turn->camera != stopped.camera; turn = turns.next(both), ++others) {
    turns.end(*turn, milliseconds(100));
  }
  EXPECT_LE(others, Turns::kLongestTurn / milliseconds(100) + 1);
}

struct Looks {
  double model = 0;
  double detector = 0;
};

// Cameras with two regions in each frame and a detector that is asked about both as far as look.budget allows it, which
// takes many times as long as the model; what each had of both.
std::vector<Looks> look(const std::vector<milliseconds>& periods, Duration detector, Duration length) {
  constexpr milliseconds kModel{20};
  constexpr std::size_t kRegions = 2;
  struct Line {
    LookBudget budget{0.8};
    Duration next{};
    std::uint64_t sequence = 0;
    SteadyTime captured_at{};
    bool waits = false;
  };
  std::vector<Line> lines(periods.size());
  std::vector<Looks> looks(periods.size());
  Turns turns(periods.size());
  for (Duration now{std::chrono::hours(1)}, end = now + length; now < end;) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].next == Duration{}) lines[i].next = now;
      for (; lines[i].next <= now; lines[i].next += periods[i]) {
        lines[i].waits = true;
        lines[i].captured_at = SteadyTime(lines[i].next);
        ++lines[i].sequence;
      }
    }
    const auto turn = next_turn(turns, lines, now);
    if (!turn) continue;
    Line& line = lines[turn->camera];
    const LookBudget::Beside beside{
        .cost = Seconds(detector).count(), .now = SteadyTime(now), .interval = {}, .cameras = lines.size()};
    line.budget.note_frame(line.sequence, line.captured_at);
    const std::size_t count = std::min(kRegions, line.budget.allows({}, lines.size()));
    const std::size_t asked = std::min(count, line.budget.allows_beside(count, beside));
    line.budget.note_cost(count * kModel, count);
    const Duration taken = count * kModel + asked * detector;
    line.budget.note_used(taken, beside);
    looks[turn->camera].model += static_cast<double>(count);
    looks[turn->camera].detector += static_cast<double>(asked);
    now += taken;
    turns.end(*turn, taken);
  }
  return looks;
}

TEST(Turns, OneThatFloodsTakesNoLooksOfTheDetectorFromTheOthers) {
  constexpr std::chrono::minutes kLength{10};
  for (const milliseconds detector : {milliseconds(40), milliseconds(150), milliseconds(600)}) {
    for (const milliseconds period : {milliseconds(250), milliseconds(400), milliseconds(1000)}) {
      // A third of look.budget, without the model's two looks; at most a look for each of them.
      const double left = 0.8 * Seconds(period).count() / 3 - 2 * 0.02;
      const double fair = Seconds(kLength) / Seconds(period) * std::min(2.0, left / Seconds(detector).count());
      const Looks among_its_like = look({period, period, period}, detector, kLength)[1];
      const Looks beside_one_that_floods = look({milliseconds(4), period, period}, detector, kLength)[1];
      EXPECT_GE(among_its_like.detector, 0.9 * fair) << detector << ", " << period;
      EXPECT_GE(beside_one_that_floods.detector, 0.9 * fair) << detector << ", " << period;
      EXPECT_GE(beside_one_that_floods.model, 0.9 * among_its_like.model) << detector << ", " << period;
    }
  }
}

// The next frame is taken, to be prepared, while the one before is still being answered.
TEST(Turns, ATurnCountsFromItsBeginOn) {
  Turns turns(2);
  const auto all = [](std::size_t) { return true; };
  std::optional<Turns::Turn> before;
  std::size_t first = 0;
  for (int i = 0; i < 100; ++i) {
    const auto turn = turns.next(all);
    first += turn->camera == 0 ? 1 : 0;
    if (before) turns.end(*before, milliseconds(100));
    before = turn;
  }
  EXPECT_NEAR(static_cast<double>(first), 50, 1);
}

TEST(Turns, WithoutAFrameItIsNobodysTurn) {
  Turns turns(3);
  EXPECT_FALSE(turns.next([](std::size_t) { return false; }));
}

}  // namespace
}  // namespace kinglet::daemon
