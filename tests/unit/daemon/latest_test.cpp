// SPDX-License-Identifier: Apache-2.0
// The newest predictions: as many as are to be kept, each with its own looks.
#include "daemon/answer/latest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

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

// Numbers of every length, of either sign.
template <typename T>
T number(std::mt19937_64& random) {
  const auto bits = static_cast<std::make_unsigned_t<T>>(random());
  return static_cast<T>(bits >> (random() % std::numeric_limits<std::make_unsigned_t<T>>::digits));
}

Ulid id(std::mt19937_64& random) {
  Ulid made;
  for (char& letter : made.letters) letter = static_cast<char>('A' + random() % 26);
  return made;
}

Scored scored(std::mt19937_64& random) {
  return {.taxon = number<std::uint32_t>(random),
          .index = number<std::uint32_t>(random),
          .score = static_cast<float>(random() % 1000) / 1000};
}

CropRect crop(std::mt19937_64& random) {
  return {number<int>(random), number<int>(random), -number<int>(random), number<int>(random)};
}

RegionLook look(std::mt19937_64& random) {
  RegionLook made{.track = id(random),
                  .box = {0.1, 1.0 / 3, 1e-9, std::ldexp(1.0, -static_cast<int>(random() % 60))},
                  .crop = crop(random),
                  .proposed_by = static_cast<ProposedBy>(random() % 3),
                  .outcome = static_cast<Outcome>(random() % kOutcomeCount),
                  .count = random() % (kRegionTop + 1)};
  std::generate_n(made.entries.begin(), made.count, [&] { return scored(random); });
  if (random() % 2 == 0) made.opinion = {Being::kAnimal, 0.75F, number<std::uint32_t>(random)};
  if (random() % 2 == 0) made.visit = id(random);
  made.best_of_visit = random() % 2 == 0;
  made.best_unnamed = random() % 2 == 0;
  return made;
}

// Each member of it is something.
Prediction any_prediction(std::mt19937_64& random) {
  const auto duration = [&] { return SteadyClock::duration(number<std::int64_t>(random)); };
  Prediction made;
  made.id = id(random);
  made.seq = number<std::uint64_t>(random);
  made.at = WallTime(WallTime::duration(-number<std::int64_t>(random)));
  made.clock_synced = random() % 2 == 0;
  made.frame_seq = std::numeric_limits<std::uint64_t>::max();
  made.camera = number<std::uint32_t>(random);
  made.drawn = random() % 2 == 0;
  made.age = duration();
  made.answer = {.outcome = static_cast<Outcome>(random() % kOutcomeCount),
                 .unusual = random() % 2 == 0,
                 .taxon = number<std::uint32_t>(random),
                 .score = 0.625F,
                 .count = random() % (kMaxTop + 1)};
  std::generate_n(made.answer.entries.begin(), made.answer.count, [&] { return scored(random); });
  made.crop = crop(random);
  made.left_out = {number<std::uint32_t>(random), 7};
  made.detector = {.looks = number<std::uint32_t>(random),
                   .left_out = 3,
                   .found = {1, 2, number<std::uint32_t>(random), 4},
                   .refined = {.merged = 5, .split = number<std::uint32_t>(random), .tightened = 6},
                   .time = duration()};
  made.timing = {.wait = duration(), .preprocess = -duration(), .inference = duration(), .postprocess = duration()};
  if (random() % 2 == 0) made.visit = id(random);
  made.model = number<std::uint32_t>(random);
  made.region_count = random() % (kMaxRegions + 1);
  std::generate_n(made.regions.begin(), made.region_count, [&] { return look(random); });
  return made;
}

TEST(LatestPredictions, AreReadAsTheyWerePublished) {
  std::mt19937_64 random(7);
  LatestPredictions latest(200);
  std::vector<Prediction> published;
  for (int i = 0; i < 200; ++i) latest.publish(published.emplace_back(any_prediction(random)));
  std::ranges::reverse(published);
  EXPECT_EQ(latest.list(200, [](const Prediction&) { return true; }), published);
}

TEST(PackedPrediction, TakesNoMoreThanItsBoundAndHalfOfAUsualOnesMemory) {
  std::mt19937_64 random(8);
  std::array<std::byte, kMostPacked> bytes;
  for (int i = 0; i < 2000; ++i) EXPECT_LE(pack(any_prediction(random), bytes), kMostPacked);
  // As the demonstration's: five scores, one look at a visitor.
  Prediction usual;
  usual.seq = 4'000;
  usual.frame_seq = 40'000;
  usual.at = WallTime(std::chrono::seconds(1'780'000'000));
  usual.answer.count = 5;
  usual.timing = {.wait = {}, .preprocess = std::chrono::microseconds(600), .inference = std::chrono::milliseconds(20)};
  usual.region_count = 1;
  usual.regions[0].count = kRegionTop;
  EXPECT_LT(pack(usual, bytes), (sizeof(Prediction) - (kMaxRegions - 1) * sizeof(RegionLook)) / 2);
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
