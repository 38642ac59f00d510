// SPDX-License-Identifier: Apache-2.0
// Why: when a caller stops asking for help, and when it tries again.
#include "engine/threads/worth.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kinglet::engine {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Worth::Command kHelpful{
    .worked = milliseconds(1), .waited = {}, .helped = milliseconds(1), .own = 5, .tiles = 10};
constexpr Worth::Command kStalled{
    .worked = milliseconds(1), .waited = milliseconds(36), .helped = milliseconds(37), .own = 9, .tiles = 10};

// How long the pause is that has begun.
Worth::Duration pause_of(Worth& worth) {
  Worth::Duration out{};
  for (; worth.alone(); out += milliseconds(1)) worth.spend(milliseconds(1));
  return out;
}

TEST(WorthTest, WorkersThatHelpAreKept) {
  Worth worth;
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(worth.add(kHelpful));
  EXPECT_FALSE(worth.alone());
}

TEST(WorthTest, OneLongWaitEndsTheirHelpForSoMuchWork) {
  Worth worth;
  EXPECT_TRUE(worth.add(kStalled));
  EXPECT_TRUE(worth.alone());
  EXPECT_EQ(pause_of(worth), Worth::kFirstPause);
}

TEST(WorthTest, WaitsShorterThanWhatIsSavedChangeNothing) {
  Worth worth;
  Worth::Command command = kHelpful;
  command.waited = microseconds(900);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(worth.add(command));
}

TEST(WorthTest, ManyShortWaitsThatSaveLessEndItToo) {
  Worth worth;
  Worth::Command command = kHelpful;
  command.waited = microseconds(1100);
  int commands = 0;
  while (!worth.add(command)) ASSERT_LT(++commands, 10);
}

TEST(WorthTest, AWorkerThatNeverComesCostsNothing) {
  Worth worth;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(worth.add({.worked = milliseconds(1), .waited = {}, .helped = {}, .own = 10, .tiles = 10}));
  }
}

// Its time says nothing of what the workers saved then.
TEST(WorthTest, ACallerThatLostItsCoreGivesNoCredit) {
  Worth worth;
  Worth::Command command = kHelpful;
  command.worked = milliseconds(40);
  command.own = 1;
  command.helped = microseconds(100);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(worth.add(command));
  command = kHelpful;
  command.waited = milliseconds(3);
  EXPECT_TRUE(worth.add(command));
}

TEST(WorthTest, EachTryThatFailsDoublesThePauseUpToALimit) {
  Worth worth;
  Worth::Duration expected = Worth::kFirstPause;
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(worth.add(kStalled));
    EXPECT_EQ(pause_of(worth), expected);
    expected = std::min(2 * expected, Worth::kLongestPause);
  }
}

TEST(WorthTest, HelpThatLastsMakesTheNextPauseShortAgain) {
  Worth worth;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(worth.add(kStalled));
    static_cast<void>(pause_of(worth));
  }
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(worth.add(kHelpful));
  ASSERT_TRUE(worth.add(kStalled));
  EXPECT_EQ(pause_of(worth), Worth::kFirstPause);
}

TEST(WorthTest, ACallerThatTookNoTileDividesByNone) {
  Worth worth;
  Worth::Command command = kHelpful;
  command.own = 0;
  EXPECT_FALSE(worth.add(command));
}

}  // namespace
}  // namespace kinglet::engine
