// SPDX-License-Identifier: Apache-2.0
// Why: which models one thread runs because more are no quicker, and when that is asked again.
#include "engine/threads/small_runs.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kinglet::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct SmallModel {
  SmallRuns::Duration alone, shared;  // what a run takes
};

constexpr SmallModel kTiny{.alone = microseconds(265), .shared = microseconds(290)};
constexpr SmallModel kSmall{.alone = microseconds(690), .shared = microseconds(380)};
constexpr SmallModel kLarge{.alone = milliseconds(10), .shared = milliseconds(6)};
constexpr SmallModel kSavesATenth{.alone = microseconds(300), .shared = microseconds(270)};

struct RunCounts {
  std::size_t alone = 0, shared = 0, tried = 0;
};

RunCounts run_for(SmallRuns& runs, const SmallModel& model, SmallRuns::Duration time) {
  RunCounts counts;
  for (SmallRuns::Duration spent{}; spent < time;) {
    const bool alone = runs.alone();
    counts.tried += runs.tries() ? 1 : 0;
    const SmallRuns::Duration took = alone ? model.alone : model.shared;
    ++(alone ? counts.alone : counts.shared);
    runs.add(took);
    spent += took;
  }
  return counts;
}

// How many runs a try of one way is, when each takes so long.
std::size_t tried_of(SmallRuns::Duration run) {
  return static_cast<std::size_t>((SmallRuns::kSettles + run - SmallRuns::Duration(1)) / run) + SmallRuns::kTried;
}

TEST(SmallRunsTest, AModelThatIsNoQuickerSharedIsTheCallersAloneButForTries) {
  SmallRuns runs;
  const RunCounts counts = run_for(runs, kTiny, seconds(20));
  // After 0.25, 0.5, 1, 2, 4, 4 s and so on.
  EXPECT_EQ(counts.shared, 9 * tried_of(kTiny.shared));
  EXPECT_GT(counts.alone, 70'000U);
  EXPECT_EQ(counts.tried, 9 * (tried_of(kTiny.shared) + tried_of(kTiny.alone)));
}

TEST(SmallRunsTest, AModelThatIsQuickerSharedIsSharedButForTries) {
  SmallRuns runs;
  const RunCounts counts = run_for(runs, kSmall, seconds(20));
  EXPECT_EQ(counts.alone, 9 * tried_of(kSmall.alone));
  EXPECT_GT(counts.shared, 50'000U);
}

TEST(SmallRunsTest, ALargeModelIsNeverTriedAlone) {
  SmallRuns runs;
  EXPECT_EQ(run_for(runs, kLarge, seconds(20)).alone, 0U);
}

TEST(SmallRunsTest, RunsThatLostTheirCoreDecideNothing) {
  SmallRuns runs;
  std::size_t i = 0;
  while (!runs.alone() && i < 100) runs.add(i++ % 3 == 1 ? milliseconds(30) : kTiny.shared);
  ASSERT_TRUE(runs.alone()) << "tried, since most are short";
  while (runs.tries() && i < 200) runs.add(i++ % 3 == 1 ? milliseconds(30) : kTiny.alone);
  EXPECT_TRUE(runs.alone());
  EXPECT_FALSE(runs.tries());
}

TEST(SmallRunsTest, RunsUntilAWorkerIsWarmDecideNothing) {
  SmallRuns runs;
  for (SmallRuns::Duration cold{}; cold < SmallRuns::kSettles; cold += kSmall.alone) runs.add(kSmall.alone);
  run_for(runs, kSmall, milliseconds(50));
  EXPECT_FALSE(runs.alone());
}

TEST(SmallRunsTest, ALittleThatIsSavedChangesNothing) {
  SmallRuns shared;
  run_for(shared, kSmall, milliseconds(50));
  EXPECT_LT(run_for(shared, kSavesATenth, seconds(10)).alone, 400U);
  SmallRuns alone;
  run_for(alone, kTiny, milliseconds(50));
  EXPECT_LT(run_for(alone, kSavesATenth, seconds(10)).shared, 400U);
}

TEST(SmallRunsTest, AMachineThatHasBecomeAnotherIsNoticedWithinAStay) {
  SmallRuns runs;
  run_for(runs, kTiny, seconds(20));
  run_for(runs, kSmall, SmallRuns::kLongestStay + milliseconds(20));
  EXPECT_FALSE(runs.alone());
  run_for(runs, kTiny, SmallRuns::kLongestStay);  // its first stay is a short one again
  EXPECT_TRUE(runs.alone());
}

}  // namespace
}  // namespace kinglet::engine
