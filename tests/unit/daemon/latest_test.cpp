// SPDX-License-Identifier: Apache-2.0
// The newest predictions: as many as are to be kept, each with its own looks.
#include "daemon/answer/latest.h"

#include <gtest/gtest.h>

namespace kinglet::daemon {
namespace {

// One whose looks tell its number.
Prediction prediction(std::uint64_t number, std::size_t looks) {
  Prediction made;
  made.seq = number;
  made.region_count = looks;
  for (std::size_t i = 0; i < looks; ++i)
    made.regions[i].crop = {.x = static_cast<int>(number), .y = static_cast<int>(i)};
  return made;
}

void expect_whole(const Prediction& one) {
  for (std::size_t i = 0; i < one.region_count; ++i) {
    EXPECT_EQ(one.regions[i].crop.x, static_cast<int>(one.seq));
    EXPECT_EQ(one.regions[i].crop.y, static_cast<int>(i));
  }
}

TEST(LatestPredictions, HaveNothingBeforeTheFirst) {
  const LatestPredictions latest(3);
  EXPECT_FALSE(latest.get());
  EXPECT_TRUE(latest.list(10, [](const Prediction&) { return true; }).empty());
}

TEST(LatestPredictions, KeepsAsManyAsItIsToWithAllTheirLooksHoweverManyTheseAre) {
  for (const std::size_t kept : {1U, 2U, 63U, 100U, 4096U}) {
    LatestPredictions latest(kept);
    std::uint64_t number = 0;
    // Few looks each, then as many as there may be, then few again, then a mixture.
    const auto looks = [&] {
      return number < 3 * kept ? 1 : number < 6 * kept ? kMaxRegions : number * 7 % 9 % (kMaxRegions + 1);
    };
    for (; number < 12 * kept + 500; ++number) {
      latest.publish(prediction(number, looks()));
      if (number % kept != 0 && number % (97 + kept) != 0) continue;
      const auto found = latest.list(kept + 1, [](const Prediction&) { return true; });
      ASSERT_EQ(found.size(), std::min<std::uint64_t>(number + 1, kept));
      for (std::size_t age = 0; age < found.size(); ++age) {
        ASSERT_EQ(found[age].seq, number - age);
        expect_whole(found[age]);
      }
      if (HasFailure()) return;
    }
    EXPECT_EQ(latest.get()->seq, number - 1);
  }
}

TEST(LatestPredictions, ListsWhatMatchesNewestFirstAndNoMoreThanIsWished) {
  LatestPredictions latest(10);
  for (std::uint64_t number = 0; number < 25; ++number) latest.publish(prediction(number, 2));
  const auto even = latest.list(3, [](const Prediction& one) { return one.seq % 2 == 0; });
  ASSERT_EQ(even.size(), 3U);
  EXPECT_EQ(even[0].seq, 24U);
  EXPECT_EQ(even[2].seq, 20U);
  for (const Prediction& one : even) expect_whole(one);
}

TEST(LatestPredictions, TellsOfEachOnceItCanBeRead) {
  std::vector<std::uint64_t> told;
  const LatestPredictions* seen = nullptr;
  LatestPredictions latest(2, [&] { told.push_back(seen->get()->seq); });
  seen = &latest;
  latest.publish(prediction(7, 1));
  latest.publish(prediction(8, 0));
  EXPECT_EQ(told, (std::vector<std::uint64_t>{7, 8}));
}

}  // namespace
}  // namespace kinglet::daemon
