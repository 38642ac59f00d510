// SPDX-License-Identifier: Apache-2.0
#include "visits/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kinglet::visits {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const SteadyTime kStart{std::chrono::hours(1)};
const std::vector<float> kRobin{0.9F, 0.1F};
const std::vector<float> kTit{0.1F, 0.9F};

auto nearly(const std::vector<float>& scores) { return ::testing::Pointwise(::testing::FloatNear(1e-6F), scores); }

// `count` looks of the same, so far apart.
Evidence looks(int count, milliseconds apart) {
  Evidence evidence(2);
  for (int i = 0; i < count; ++i) evidence.add(kRobin, kStart + i * apart);
  return evidence;
}

TEST(Evidence, ManyLooksAtOnceAreHardlyMoreThanOne) {
  EXPECT_NEAR(looks(10, milliseconds(10)).looks(), 1.2, 0.05);
  EXPECT_GT(looks(10, seconds(1)).looks(), 4);
}

TEST(Evidence, TenAndThirtyFramesASecondSayTheSame) {
  EXPECT_NEAR(looks(90, milliseconds(33)).looks() / looks(30, milliseconds(100)).looks(), 1, 0.1);
}

TEST(Evidence, AGlanceIsLessThanAPictureAndALongLookMore) {
  EXPECT_DOUBLE_EQ(certainty_of(kPictureLooks), 1);
  EXPECT_LT(certainty_of(looks(1, seconds(1)).looks()), 0.6);
  EXPECT_GT(certainty_of(looks(100, milliseconds(100)).looks()), 1.3);
  EXPECT_LT(certainty_of(1e6), 2.001);
}

TEST(Evidence, IsTheMeanOfTheLooks) {
  Evidence evidence(2);
  evidence.add(kRobin, kStart);
  EXPECT_THAT(evidence.scores(), nearly(kRobin));
  evidence.add(kTit, kStart + seconds(1));
  EXPECT_NEAR(evidence.scores()[1], 0.5, 0.05);
}

TEST(Evidence, ForgetsWhoWasThereBefore) {
  Evidence evidence = looks(100, milliseconds(100));
  for (int i = 0; i < 100; ++i) evidence.add(kTit, kStart + seconds(10) + i * milliseconds(100));
  EXPECT_GT(evidence.scores()[1], 0.7F);
}

TEST(Evidence, NothingIsLeftAfterClear) {
  Evidence evidence = looks(100, milliseconds(100));
  evidence.clear();
  EXPECT_EQ(evidence.looks(), 0);
  evidence.add(kTit, kStart + seconds(20));
  EXPECT_THAT(evidence.scores(), nearly(kTit));
}

TEST(Evidence, APictureStandsForItself) {
  Evidence evidence = looks(100, milliseconds(100));
  evidence.set_picture(kTit);
  EXPECT_THAT(evidence.scores(), nearly(kTit));
  EXPECT_DOUBLE_EQ(evidence.looks(), kPictureLooks);
}

}  // namespace
}  // namespace kinglet::visits
