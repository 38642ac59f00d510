// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

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

// Cameras whose frames wait one at a time, the newest of each, before one who answers them for so long.
void answer(std::vector<Camera>& cameras, Duration length, std::mt19937& random) {
  std::uniform_real_distribution<double> about(0.75, 1.25);
  const auto vary = [&](Duration duration) { return std::chrono::duration_cast<Duration>(duration * about(random)); };
  Turns turns(cameras.size());
  for (Duration now{}; now < length;) {
    for (Camera& one : cameras) {
      for (; one.next <= now; one.next += vary(one.period)) one.waits = true;
    }
    const auto turn = turns.next([&](std::size_t i) { return cameras[i].waits; });
    if (!turn) {
      now = std::ranges::min(cameras, {}, &Camera::next).next;
      continue;
    }
    Camera& camera = cameras[turn->camera];
    camera.waits = false;
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
  EXPECT_NEAR(first, 50, 1);
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
