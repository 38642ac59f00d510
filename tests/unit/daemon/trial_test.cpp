// SPDX-License-Identifier: Apache-2.0
// A model on trial: what is counted, and what the owner's rule makes of it.
#include "daemon/models/trial.h"

#include <gtest/gtest.h>

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;

visits::Taxa taxa_of(std::string_view labels) { return *visits::Taxa::make(*engine::Labels::parse(labels, "test")); }

visits::Answer says(std::uint32_t taxon, float score, visits::Outcome outcome = visits::Outcome::kAccepted) {
  visits::Answer answer{.outcome = outcome, .taxon = taxon, .score = score};
  answer.entries[0] = {.taxon = taxon, .index = taxon, .score = score};
  answer.count = 1;
  return answer;
}

TEST(Trial, SpeciesAreComparedByNameNotByNumber) {
  const visits::Taxa before = taxa_of("wren\nrobin\n");
  const visits::Taxa after = taxa_of("robin\nwren\n");
  Trial trial(2);
  trial.add({says(0, 0.9F), before, milliseconds(20)}, {says(1, 0.8F), after, milliseconds(5)});
  EXPECT_FALSE(trial.complete());
  trial.add({says(0, 0.9F), before, milliseconds(20)}, {says(0, 0.9F), after, milliseconds(15)});
  EXPECT_TRUE(trial.complete());
  const TrialReport report = trial.report();
  EXPECT_EQ(report.agreeing, 1U);
  EXPECT_DOUBLE_EQ(report.agreement(), 0.5);
  EXPECT_NEAR(report.score_difference, 0.1, 1e-6);
  EXPECT_DOUBLE_EQ(report.before.count(), 20);
  EXPECT_DOUBLE_EQ(report.after.count(), 10);
  EXPECT_DOUBLE_EQ(report.time_ratio(), 0.5);
}

TEST(Trial, TheSameBirdWithAnotherVerdictIsAnotherAnswer) {
  const visits::Taxa taxa = taxa_of("wren\nrobin\n");
  Trial trial(1);
  trial.add({says(0, 0.7F), taxa, milliseconds(1)},
            {says(0, 0.5F, visits::Outcome::kBelowThreshold), taxa, milliseconds(1)});
  EXPECT_EQ(trial.report().agreeing, 1U);
  EXPECT_EQ(trial.report().same_answers, 0U);
}

TEST(Trial, NumbersThatAreNoneAgreeWithNothing) {
  const visits::Taxa taxa = taxa_of("wren\nrobin\n");
  Trial trial(1);
  trial.add({visits::Answer{}, taxa, milliseconds(1)}, {visits::Answer{}, taxa, milliseconds(1)});
  EXPECT_EQ(trial.report().agreeing, 0U);
}

TEST(Trial, TheRuleSaysWhyTheModelBeforeStays) {
  const TrialRule rule{.frames = 10, .least_agreement = 0.9, .most_time = 1.0};
  TrialReport report{.wanted = 10, .frames = 10, .agreeing = 9, .before = Milliseconds(10), .after = Milliseconds(10)};
  EXPECT_FALSE(reason_to_keep(report, rule));
  report.after = Milliseconds(11);
  EXPECT_EQ(reason_to_keep(report, rule), "it takes 1.10 times the time of the model before, allowed are 1.00");
  report.agreeing = 8;
  EXPECT_EQ(reason_to_keep(report, rule), "both see the same species in 80.0 % of the frames, wanted are 90.0 %");
  report.frames = 4;
  EXPECT_EQ(reason_to_keep(report, rule), "4 of 10 frames came within 3600 s");
}

}  // namespace
}  // namespace kinglet::daemon
