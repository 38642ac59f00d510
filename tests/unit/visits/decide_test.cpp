// SPDX-License-Identifier: Apache-2.0
#include "visits/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/format.h"

namespace kinglet::visits {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kLabels =
    "Turdus merula (Blackbird)\nTurdus philomelos (Song Thrush)\nErithacus rubecula (Robin)\n"
    "Great Tit (male)\nGreat Tit (female)\nApus apus (Swift)\nbackground\n";

std::shared_ptr<const Taxa> taxa() {
  static const auto kTaxa =
      std::make_shared<const Taxa>(Taxa::make(engine::Labels::parse(kLabels, "l.txt").value()).value());
  return kTaxa;
}

Answer decide(const std::vector<float>& scores, const DecideOptions& options = {}, std::optional<unsigned> month = 6,
              std::size_t top_k = 3) {
  std::vector<std::string> warnings;
  Decider decider(Rule::make(taxa(), options, warnings));
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  return decider.decide(scores, month, top_k);
}

std::string name(const Answer& answer) { return (*taxa())[answer.taxon].species_id; }
// "accepted turdus-merula 0.92"
std::string said(const Answer& answer) {
  return format_text("{} {} {:.2f}", to_string(answer.outcome), name(answer), answer.score);
}

// Blackbird, song thrush, robin, tit (male, female), swift, background.
const std::vector<float> kBlackbird{0.9F, 0.05F, 0.03F, 0, 0, 0, 0.02F};
const std::vector<float> kSwift{0.02F, 0, 0.03F, 0, 0, 0.95F, 0};

SpeciesList list(std::string_view text) { return SpeciesList::parse(text, "list").value(); }

TEST(Decide, AcceptsAClearBest) {
  const Answer answer = decide(kBlackbird);
  EXPECT_EQ(answer.outcome, Outcome::kAccepted);
  EXPECT_EQ(name(answer), "turdus-merula");
  ASSERT_EQ(answer.count, 3U);
  EXPECT_EQ(answer.top()[0].index, 0U);
  EXPECT_FLOAT_EQ(answer.top()[1].score, 0.05F / 0.98F) << "of what is no background";
}

TEST(Decide, AbstainsBelowTheThreshold) {
  EXPECT_EQ(decide({0.49F, 0, 0.26F, 0.25F, 0, 0, 0}).outcome, Outcome::kBelowThreshold);
}

TEST(Decide, AbstainsWhenTwoAreNearEachOther) {
  EXPECT_EQ(decide({0.50F, 0, 0.40F, 0.10F, 0, 0, 0}, {.min_score = 0.4}).outcome, Outcome::kAmbiguous);
}

TEST(Decide, LooksAtTheSecondAlsoWhenOnlyOneIsWanted) {
  const Answer answer = decide({0.50F, 0, 0.40F, 0.10F, 0, 0, 0}, {.min_score = 0.4}, 6, 1);
  EXPECT_EQ(answer.outcome, Outcome::kAmbiguous);
  EXPECT_EQ(answer.count, 1U);
}

TEST(Decide, NobodyIsThereWhenMostIsBackground) {
  EXPECT_EQ(said(decide({0.3F, 0, 0.1F, 0, 0, 0, 0.6F})), "background background 0.60");
}

TEST(Decide, LessBackgroundIsNoRivalOfTheBirds) {
  const Answer answer = decide({0.42F, 0, 0.1F, 0, 0, 0, 0.48F});
  EXPECT_EQ(answer.outcome, Outcome::kAccepted);
  EXPECT_FLOAT_EQ(answer.score, 0.42F / 0.52F);
}

Answer decide_looks(const std::vector<float>& scores, double looks, const DecideOptions& options = {}) {
  std::vector<std::string> warnings;
  return Decider(Rule::make(taxa(), options, warnings)).decide(scores, 6, 3, looks);
}

TEST(Decide, ALikelyBirdIsNamedAfterFewLooksAnUnlikelyOneNeedsMore) {
  const std::vector<float> likely{0.9F, 0.02F, 0.02F, 0.02F, 0.02F, 0.02F, 0};
  const std::vector<float> middling{0.48F, 0.12F, 0.12F, 0.14F, 0, 0.14F, 0};
  EXPECT_EQ(decide_looks(likely, 1).outcome, Outcome::kBelowThreshold) << "a glance";
  EXPECT_EQ(decide_looks(likely, 3).outcome, Outcome::kAccepted);
  EXPECT_EQ(decide_looks(middling, kPictureLooks).outcome, Outcome::kBelowThreshold) << "a picture";
  EXPECT_EQ(decide_looks(middling, 8).outcome, Outcome::kAccepted) << "many middling looks";
}

TEST(Decide, AfterManyLooksMoreBackgroundIsNoRivalEither) {
  const std::vector<float> small_bird{0.30F, 0, 0.05F, 0, 0, 0, 0.65F};
  EXPECT_EQ(decide_looks(small_bird, kPictureLooks).outcome, Outcome::kBackground);
  EXPECT_EQ(decide_looks(small_bird, 10).outcome, Outcome::kAccepted);
}

TEST(Decide, ARegionsListAndSeasonRankBeforeTheyRefuse) {
  const DecideOptions options{.region = list("Turdus merula\nApus apus: 4-8\n")};
  const std::vector<float> robin_or_blackbird{0.40F, 0, 0.55F, 0, 0, 0.05F, 0};
  EXPECT_EQ(name(decide(robin_or_blackbird, options)), "turdus-merula") << "the robin is not on the list";
  EXPECT_EQ(decide({0.1F, 0, 0.9F, 0, 0, 0, 0}, {.always = {"robin"}, .region = list("Turdus merula\n")}).outcome,
            Outcome::kAccepted);
  const std::vector<float> swift_or_blackbird{0.25F, 0, 0, 0, 0, 0.75F, 0};
  EXPECT_EQ(name(decide(swift_or_blackbird, options, 6)), "apus-apus");
  EXPECT_EQ(decide(swift_or_blackbird, options, 12).outcome, Outcome::kAmbiguous) << "a swift in December";
}

TEST(Decide, AbstainsWhenTooMuchIsSpreadOverTheRest) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "bird " + std::string(1, static_cast<char>('A' + i)) + std::to_string(i) + "\n";
  const auto many = std::make_shared<const Taxa>(Taxa::make(engine::Labels::parse(text, "l.txt").value()).value());
  std::vector<std::string> warnings;
  const std::vector<float> spread = [] {
    std::vector<float> scores(40, 0.35F / 39);
    scores[7] = 0.65F;
    return scores;
  }();
  EXPECT_EQ(Decider(Rule::make(many, {}, warnings)).decide(spread, 6, 3).outcome, Outcome::kBelowThreshold);
  EXPECT_EQ(Decider(Rule::make(many, {.max_rest = 1}, warnings)).decide(spread, 6, 3).outcome, Outcome::kAccepted);
}

TEST(Decide, GivesNoNamesForNumbersThatAreNone) {
  for (const float none : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Answer answer = decide({0.9F, none, 0, 0, 0, 0, 0});
    EXPECT_EQ(answer.outcome, Outcome::kNonFinite);
    EXPECT_EQ(answer.count, 0U);
    EXPECT_EQ(answer.taxon, kNoTaxon);
  }
}

TEST(Decide, SumsMaleAndFemale) {
  const Answer answer = decide({0, 0.1F, 0, 0.40F, 0.45F, 0.05F, 0});
  EXPECT_EQ(said(answer), "accepted great-tit 0.85");
  EXPECT_EQ(answer.top()[0].index, 4U);
}

// Scores of sigmoids say nothing of each other: neither what they add up to nor what they leave means anything.
Answer decide_independent(const std::vector<float>& scores, const DecideOptions& options = {}) {
  std::vector<std::string> warnings;
  return Decider(Rule::make(taxa(), options, warnings, {.add_up_to_one = false})).decide(scores, 6, 3);
}

TEST(Decide, IndependentScoresHaveNoRest) {
  const std::vector<float> scores{0.65F, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(decide(scores).outcome, Outcome::kBelowThreshold);
  const Answer answer = decide_independent(scores);
  EXPECT_EQ(answer.outcome, Outcome::kAccepted);
  EXPECT_FLOAT_EQ(answer.score, 0.65F);
}

TEST(Decide, IndependentScoresAreNotSummed) {
  EXPECT_EQ(said(decide_independent({0, 0.1F, 0, 0.40F, 0.45F, 0.05F, 0})), "below_threshold great-tit 0.45");
}

TEST(Decide, OfIndependentScoresAGenusIsAsSureAsItsSurestBird) {
  EXPECT_EQ(said(decide_independent({0.85F, 0.80F, 0.1F, 0, 0, 0, 0})), "accepted turdus 0.85");
  EXPECT_EQ(decide_independent({0.70F, 0.65F, 0.1F, 0, 0, 0, 0}).outcome, Outcome::kAmbiguous);
}

TEST(Decide, TwoIndependentBirdsThatAreBothThereAreAmbiguous) {
  EXPECT_EQ(decide_independent({0.9F, 0, 0.85F, 0, 0, 0, 0}).outcome, Outcome::kAmbiguous);
}

TEST(Decide, NamesTheGenusWhenTheSumIsSureAndThePartsAreNot) {
  const Answer answer = decide({0.50F, 0.41F, 0.04F, 0, 0, 0.05F, 0});
  EXPECT_EQ(said(answer), "accepted turdus 0.91");
  EXPECT_EQ(answer.top()[0].taxon, answer.taxon);
  EXPECT_EQ(answer.top()[0].index, 0U);
  EXPECT_EQ((*taxa())[answer.top()[1].taxon].species_id, "turdus-merula");
}

TEST(Decide, TheShareOfTheRestIsThatBeforeTheTemperature) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "bird " + std::string(1, static_cast<char>('A' + i)) + std::to_string(i) + "\n";
  const auto many = std::make_shared<const Taxa>(Taxa::make(engine::Labels::parse(text, "l.txt").value()).value());
  std::vector<std::string> warnings;
  const DecideOptions only_rest{.min_score = 0, .min_margin = 0};
  for (const float rest : {0.20F, 0.30F}) {
    for (const double temperature : {0.5, 0.8, 1.0, 1.3, 2.0}) {
      std::vector<float> scores(40, rest / 35);
      std::fill_n(scores.begin(), 5, (1 - rest) / 5);
      float sum = 0;
      for (float& score : scores) sum += score = std::pow(score, static_cast<float>(1 / temperature));
      for (float& score : scores) score /= sum;
      const auto rule = Rule::make(many, only_rest, warnings, {.temperature = temperature});
      EXPECT_EQ(Decider(rule).decide(scores, 6, 3).outcome,
                rest < 0.24F ? Outcome::kAccepted : Outcome::kBelowThreshold)
          << rest << " at " << temperature;
    }
  }
}

TEST(Decide, ARegionsListTakesLabelsAndTellsWhenItsNamesAreNoneOfTheModels) {
  EXPECT_EQ(decide(kBlackbird, {.region = list("Turdus merula (Blackbird)\n")}).outcome, Outcome::kAccepted);
  EXPECT_EQ(decide(kBlackbird, {.region = list("Amsel\n")}).outcome, Outcome::kAccepted) << "in a language of the page";
  std::vector<std::string> warnings;
  static_cast<void>(Rule::make(taxa(), {.region = list("Roodborst\nMerel\n")}, warnings));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "decide.region: this model knows none of its 2 names, such as \"Merel\"");
}

TEST(Decide, ABlockedBirdDoesNotComeInByItsGenus) {
  const std::vector<float> blackbird_or_thrush{0.52F, 0.44F, 0.04F, 0, 0, 0, 0};
  EXPECT_EQ(decide(blackbird_or_thrush).outcome, Outcome::kAccepted);
  EXPECT_EQ(decide(blackbird_or_thrush, {.block = {"turdus-merula"}}).outcome, Outcome::kBlocked);
}

TEST(Decide, ABirdThatHasToBeVerySureDoesNotComeInByItsGenus) {
  const DecideOptions strict{.scores = {{"turdus-merula", 0.99}}};
  EXPECT_EQ(decide({0.52F, 0.44F, 0.04F, 0, 0, 0, 0}, strict).outcome, Outcome::kBelowThreshold);
}

TEST(Decide, NamesNoGenusWhenItsSumIsNotSureOrWhenTold) {
  EXPECT_EQ(decide({0.40F, 0.35F, 0.25F, 0, 0, 0, 0}).outcome, Outcome::kBelowThreshold);
  EXPECT_EQ(decide({0.48F, 0.45F, 0.07F, 0, 0, 0, 0}, {.genus_score = 2}).outcome, Outcome::kBelowThreshold);
}

TEST(Decide, TakesTheNearestWordForTheLeastScore) {
  const DecideOptions options{.scores = {{"Turdus", 0.98}, {"turdus-philomelos", 0.3}}};
  EXPECT_EQ(decide(kBlackbird, options).outcome, Outcome::kBelowThreshold);
  EXPECT_EQ(name(decide({0.1F, 0.4F, 0.1F, 0.1F, 0.1F, 0.1F, 0.1F}, options)), "turdus-philomelos");
}

TEST(Decide, RefusesWhatIsNotAllowed) {
  EXPECT_EQ(decide(kBlackbird, {.allow = {"Robin"}}).outcome, Outcome::kNotAllowed);
  EXPECT_EQ(decide(kBlackbird, {.allow = {"Turdus"}}).outcome, Outcome::kAccepted);
  EXPECT_EQ(decide(kBlackbird, {.allow = {"Robin"}, .always = {"Blackbird"}}).outcome, Outcome::kAccepted);
}

TEST(Decide, RefusesWhatIsBlockedWhateverElseIsSaid) {
  EXPECT_EQ(decide(kBlackbird, {.block = {"Turdus merula"}, .always = {"Turdus merula"}}).outcome, Outcome::kBlocked);
}

TEST(Decide, NamesAGenusWhileOneOfItsPartsIsAllowed) {
  const std::vector<float> thrushes{0.50F, 0.41F, 0.04F, 0, 0, 0.05F, 0};
  EXPECT_EQ(decide(thrushes, {.allow = {"Song Thrush"}}).outcome, Outcome::kAccepted);
  EXPECT_EQ(decide(thrushes, {.block = {"Song Thrush"}}).outcome, Outcome::kAccepted);
  EXPECT_EQ(decide(thrushes, {.block = {"Song Thrush", "Blackbird"}}).outcome, Outcome::kBlocked);
}

TEST(Decide, TakesIgnoredLabelsForBackground) {
  EXPECT_EQ(decide(kSwift, {.ignore = {"Swift"}}).outcome, Outcome::kBackground);
}

TEST(Decide, RefusesBirdsThatDoNotLiveHere) {
  const DecideOptions options{.region = list("Turdus\nGreat Tit\n")};
  EXPECT_EQ(decide(kBlackbird, options).outcome, Outcome::kAccepted);
  EXPECT_FALSE(decide(kBlackbird, options).unusual);
  EXPECT_EQ(decide(kSwift, options).outcome, Outcome::kNotAllowed);
}

TEST(Decide, FlagsBirdsThatAreNotUsualHereOrNow) {
  const DecideOptions options{.region = list("Apus apus: 4-8\n"), .unlisted = Unlisted::kFlag};
  EXPECT_FALSE(decide(kSwift, options, 6).unusual);
  EXPECT_TRUE(decide(kSwift, options, 12).unusual);
  EXPECT_TRUE(decide(kBlackbird, options, 6).unusual);
  EXPECT_EQ(decide(kBlackbird, options, 6).outcome, Outcome::kAccepted);
}

TEST(Decide, ASeasonIsItsMonthsAndNoOthers) {
  for (unsigned season = 1; season <= 12; ++season) {
    const DecideOptions options{.region = list(format_text("Apus apus: {}\n", season))};
    for (unsigned month = 1; month <= 12; ++month) {
      EXPECT_EQ(decide(kSwift, options, month).unusual, month != season) << season << " in " << month;
    }
  }
}

TEST(Decide, KnowsNoSeasonWhileTheClockIsNotSet) {
  const Answer answer = decide(kSwift, {.region = list("Apus apus: 4-8\n")}, std::nullopt);
  EXPECT_EQ(answer.outcome, Outcome::kAccepted);
  EXPECT_FALSE(answer.unusual);
}

TEST(Decide, TellsNamesThatTheModelDoesNotKnow) {
  std::vector<std::string> warnings;
  static_cast<void>(Rule::make(taxa(), {.scores = {{"quetzal", 0.5}}, .block = {"Turdus merulla"}}, warnings));
  EXPECT_THAT(warnings, ElementsAre("decide.scores: this model does not know \"quetzal\"",
                                    "decide.block: this model does not know \"Turdus merulla\"; did you mean "
                                    "turdus-merula?"));
}

TEST(MonthOf, IsThatOfTheCalendar) {
  EXPECT_EQ(month_of(WallTime{}), 1U);
  EXPECT_EQ(month_of(WallTime(std::chrono::sys_days(std::chrono::year(2024) / 2 / 29))), 2U);
}

}  // namespace
}  // namespace kinglet::visits
