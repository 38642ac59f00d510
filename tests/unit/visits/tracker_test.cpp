// SPDX-License-Identifier: Apache-2.0
// Visits from a script of answers on a virtual clock: each letter is a frame, a tenth of a second after the last.
#include "visits/tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>

#include "engine/base/format.h"

namespace kinglet::visits {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

const WallTime kNoon{std::chrono::sys_days(std::chrono::year(2026) / 5 / 4) + std::chrono::hours(12)};

class TrackerTest : public ::testing::Test {
 protected:
  // 'm' blackbird, 'p' song thrush, 't' the genus of both, 'r' robin, 's' swift (unusual), '.' an abstention, '-'
  // nobody there. A capital: that look alone says so, while all looks together do not yet.
  void frames(std::string_view script) {
    for (const char letter : script) {
      frame(letter);
      pass(milliseconds(100));
    }
  }
  // What is told last when there are no more.
  std::string end_of(std::string_view script) {
    frames(script);
    tracker().finish();
    return events_.back();
  }
  // A look at each of several tracks; ' ' leaves one out.
  void frames_of(std::vector<std::string> scripts) {
    for (std::size_t i = 0; i < scripts[0].size(); ++i) {
      newest_ = ids_.next(wall_);
      for (std::size_t track = 0; track < scripts.size(); ++track) {
        if (scripts[track][i] != ' ') look(scripts[track][i], 0.9F, track);
      }
      pass(milliseconds(100));
    }
  }
  Tracked frame(char letter, float score = 0.9F) {
    newest_ = ids_.next(wall_);
    return look(letter, score, 0);
  }
  Tracked look(char letter, float score, std::size_t track) {
    const Answer answer = answer_of(letter, score, Outcome::kAccepted);
    const Answer so_far = std::isupper(letter) != 0 ? answer_of('.', score, Outcome::kBelowThreshold) : answer;
    return tracker().update({.at = now_,
                             .wall = wall_,
                             .clock_synced = synced_,
                             .track = tracks_.at(track),
                             .one_thing = one_thing_,
                             .answer = so_far,
                             .look = answer,
                             .prediction = newest_,
                             .crop = {static_cast<int>(letter), 0, 1, 1},
                             .box = {0.25 * static_cast<double>(track), 0.25, 0.2, 0.2}});
  }
  [[nodiscard]] Answer answer_of(char letter, float score, Outcome outcome) const {
    Answer answer;
    answer.outcome = letter == '-' ? Outcome::kBackground : Outcome::kBelowThreshold;
    const auto lower = static_cast<char>(std::tolower(letter));
    const std::size_t at = std::string_view("mprst").find(lower);
    if (at == std::string_view::npos) return answer;
    answer.outcome = outcome;
    answer.taxon = at < 4 ? static_cast<std::uint32_t>(at) : *taxa_->find("turdus");
    answer.score = score;
    answer.unusual = lower == 's';
    answer.entries[0] = {answer.taxon, static_cast<std::uint32_t>(at % 4), score};
    answer.count = 1;
    return answer;
  }
  void pass(SteadyClock::duration duration) {
    now_ += duration;
    wall_ += duration;
  }
  void wait(SteadyClock::duration duration) {
    pass(duration);
    tracker().tick(now_);
  }
  VisitTracker& tracker() {
    if (!tracker_) {
      tracker_.emplace(options_, taxa_, ids_, [this](VisitEvent event, const Visit& visit) { note(event, visit); });
    }
    return *tracker_;
  }
  void note(VisitEvent event, const Visit& visit) {
    visits_[visit.seq] = visit;
    const double began = std::chrono::duration<double>(visit.started_at - kNoon).count();
    events_.push_back(format_text("{} {} {} at {:.1f} for {:.1f}: {} of {}", to_string(event).substr(6), visit.seq,
                                  visit.species_id(), began, Seconds(visit.duration).count(),
                                  visit.model_result.frames_agreeing, visit.model_result.frames_seen));
  }

  std::shared_ptr<const Taxa> taxa_ = std::make_shared<const Taxa>(
      Taxa::make(engine::Labels::parse("Turdus merula\nTurdus philomelos\nrobin\nswift\n"
                                       "background\n",
                                       "l.txt")
                     .value(),
                 parse_species_table("label\tscientific_name\nTurdus merula\tTurdus merula\n"
                                     "Turdus philomelos\tTurdus philomelos\n",
                                     "t.tsv")
                     .value())
          .value());
  bool knows_birds_ = true;
  TrackerOptions options_{.knows_birds = [this] { return knows_birds_; },
                          .last_seen = std::make_shared<LastSeen>(LastSeen{
                              {"turdus-merula", kNoon}, {"robin", kNoon}, {"turdus", kNoon}, {"swift", kNoon}})};
  IdMaker ids_{1};
  std::array<Ulid, 4> tracks_{ids_.next(kNoon), ids_.next(kNoon), ids_.next(kNoon), ids_.next(kNoon)};
  bool one_thing_ = false;
  Ulid newest_;  // of a prediction
  SteadyTime now_{std::chrono::hours(1)};
  WallTime wall_ = kNoon;
  bool synced_ = true;
  std::optional<VisitTracker> tracker_;
  std::vector<std::string> events_;
  std::map<std::uint64_t, Visit> visits_;
};

TEST_F(TrackerTest, AVisitBeginsWithTheFirstOfTheLooksThatItRestsOn) {
  frames("......MMM.Mm");
  EXPECT_THAT(events_, ElementsAre("start 1 turdus-merula at 0.6 for 0.5: 5 of 6"));
}

TEST_F(TrackerTest, WhatAllLooksSayNamesNobodyWhileTheNewestLookSaysAnother) {
  const Answer blackbird = answer_of('m', 0.9F, Outcome::kAccepted);
  const Answer robin = answer_of('r', 0.9F, Outcome::kAccepted);
  tracker().update({.at = now_, .track = tracks_[0], .answer = blackbird, .look = robin, .prediction = newest_});
  EXPECT_THAT(events_, ::testing::IsEmpty());
}

TEST_F(TrackerTest, SeveralBirdsAreSeveralVisits) {
  frames_of({"mmmmmm", "  rrrr"});
  tracker().finish();
  EXPECT_THAT(events_,
              ElementsAre("start 1 turdus-merula at 0.0 for 0.0: 1 of 1", "start 2 robin at 0.2 for 0.0: 1 of 1",
                          "end 1 turdus-merula at 0.0 for 0.5: 6 of 6", "end 2 robin at 0.2 for 0.3: 4 of 4"));
}

TEST_F(TrackerTest, TwoOfOneSpeciesAreOneVisitThatCountsThem) {
  frames_of({"mmmmmmm", " mmmmm ", "   rrrr"});
  tracker().finish();
  ASSERT_EQ(visits_.size(), 2U);
  EXPECT_EQ(visits_[1].count, 2U);
  EXPECT_EQ(visits_[2].count, 1U);
  EXPECT_EQ(events_[2], "end 1 turdus-merula at 0.0 for 0.6: 7 of 7") << "frames count once";
}

TEST_F(TrackerTest, TwoThatCameOneAfterTheOtherWereNeverTwoAtOnce) {
  frames_of({"mmmm                          ", "                          mmmm"});
  EXPECT_EQ(visits_[1].count, 1U);
  EXPECT_EQ(visits_.size(), 1U);
}

TEST_F(TrackerTest, ABirdThatSitsWithItsBackToTheCameraStays) {
  one_thing_ = true;
  frames("mmm");
  for (int i = 0; i < 40; ++i) {
    pass(seconds(1));
    frame('R');
  }
  frames("m");
  EXPECT_EQ(visits_.size(), 1U);
  wait(seconds(16));
  EXPECT_EQ(visits_[1].state, VisitState::kEnded);
}

TEST_F(TrackerTest, AMistakeOfTheFirstGlanceIsMended) {
  one_thing_ = true;
  frames("mmmrrrr");
  tracker().finish();
  ASSERT_EQ(visits_.size(), 1U);
  EXPECT_EQ(visits_[1].species_id(), "robin");
}

TEST_F(TrackerTest, AnotherNameForWhatWasSureIsAnotherBird) {
  one_thing_ = true;
  frames("mmmmmmmmmmmmmmmmrrr");
  EXPECT_THAT(events_,
              ElementsAre("start 1 turdus-merula at 0.0 for 0.0: 1 of 1", "start 2 robin at 1.6 for 0.2: 3 of 3"));
}

TEST_F(TrackerTest, AVisitEndsWithItsLastFrameAfterTheTime) {
  frames("mmmmm.......");
  wait(seconds(14));
  EXPECT_EQ(events_.size(), 1U);
  wait(seconds(2));
  EXPECT_EQ(events_.back(), "end 1 turdus-merula at 0.0 for 0.4: 5 of 5");
  EXPECT_EQ(visits_[1].state, VisitState::kEnded);
}

TEST_F(TrackerTest, ItDoesNotMatterHowOftenTheTimeIsAsked) {
  frames("mmmmm...");
  now_ += seconds(100);
  wall_ += seconds(100);
  frames("mmm");
  EXPECT_THAT(events_,
              ElementsAre("start 1 turdus-merula at 0.0 for 0.0: 1 of 1", "end 1 turdus-merula at 0.0 for 0.4: 5 of 5",
                          "start 2 turdus-merula at 100.8 for 0.0: 1 of 1"));
}

TEST_F(TrackerTest, AShortAbsenceIsTheSameVisit) {
  frames("mmm");
  wait(seconds(10));
  EXPECT_EQ(end_of("m"), "end 1 turdus-merula at 0.0 for 10.3: 4 of 4");
}

TEST_F(TrackerTest, AnotherBirdAtThePlaceHasAVisitOfItsOwn) {
  frames("mmmmm..rrrr");
  tracker().finish();
  EXPECT_THAT(events_,
              ElementsAre("start 1 turdus-merula at 0.0 for 0.0: 1 of 1", "start 2 robin at 0.7 for 0.2: 3 of 3",
                          "end 1 turdus-merula at 0.0 for 0.4: 5 of 5", "end 2 robin at 0.7 for 0.3: 4 of 4"));
  EXPECT_LT(visits_[1].id, visits_[2].id);
}

TEST_F(TrackerTest, NamesHeardInTurnsAreOneBirdCalledWhatMoreFramesCallIt) {
  frames("mmmrmrrmrrmrrr");
  tracker().finish();
  ASSERT_EQ(visits_.size(), 1U);
  EXPECT_EQ(visits_[1].species_id(), "robin");
  EXPECT_EQ(visits_[1].started_at, kNoon);
  EXPECT_EQ(visits_[1].best_crop.x, 'r') << "the picture shows what the visit is called";
}

TEST_F(TrackerTest, AFewOtherNamesChangeNothing) {
  EXPECT_EQ(end_of("mmmmmmrmmrmmmm"), "end 1 turdus-merula at 0.0 for 1.3: 12 of 14");
}

TEST_F(TrackerTest, AGenusIsRefinedToItsSpecies) {
  frames("ttt");
  EXPECT_THAT(events_, ElementsAre("start 1 turdus at 0.0 for 0.0: 1 of 1"));
  frames("mmm");
  wait(seconds(1));
  frames("m");
  EXPECT_EQ(visits_[1].species_id(), "turdus-merula");
  EXPECT_EQ(visits_.size(), 1U);
}

TEST_F(TrackerTest, TheGenusProlongsAVisitOfItsSpecies) {
  EXPECT_EQ(end_of("mmmtttt"), "end 1 turdus-merula at 0.0 for 0.6: 3 of 3");
}

TEST_F(TrackerTest, UpdatesComeOnceASecondAndOnlyWithABetterLook) {
  frames("mmm");
  for (int i = 0; i < 25; ++i) {
    frame('m', 0.9F + 0.001F * static_cast<float>(i));
    now_ += milliseconds(100);
    wall_ += milliseconds(100);
  }
  EXPECT_EQ(events_.size(), 3U);
  frames("mmmmmmmmmmmmmmmmmmmmmmmmmmmm");
  EXPECT_EQ(events_.size(), 4U) << "what was not told yet";
}

TEST_F(TrackerTest, TellsWhichFrameIsTheBestLook) {
  EXPECT_TRUE(frame('m', 0.8F).best) << "the first frame of the visit";
  EXPECT_FALSE(frame('m', 0.7F).best);
  EXPECT_TRUE(frame('m', 0.95F).best);
  const Tracked none = frame('.');
  EXPECT_FALSE(none.best);
  EXPECT_FALSE(none.visit);
  EXPECT_TRUE(frame('m', 0.7F).visit);
}

TEST_F(TrackerTest, TellsWhichPredictionsItRestsOn) {
  std::vector<std::string> ids;
  const auto see = [&](char letter, float score) {
    frame(letter, score);
    ids.push_back("prd_" + std::string(newest_.view()));
    now_ += milliseconds(100);
  };
  const auto rests_on = [&] {
    std::vector<std::string> named;
    for (const KeptPrediction& prediction : visits_.at(1).predictions) named.push_back(prediction.id);
    return named;
  };
  see('M', 0.8F);
  see('.', 0.0F);
  see('M', 0.9F);
  see('m', 0.7F);
  EXPECT_THAT(rests_on(), ElementsAre(ids[0], ids[2], ids[3]));
  see('m', 0.6F);
  see('m', 0.95F);
  wait(seconds(16));
  EXPECT_EQ(visits_.at(1).best_prediction, ids[5]);
  EXPECT_THAT(rests_on(), ElementsAre(ids[0], ids[2], ids[3], ids[5]));
}

TEST_F(TrackerTest, TheScoreIsTheMeanOfTheAgreeingFrames) {
  for (const float score : {0.6F, 0.8F, 1.0F}) {
    frame('m', score);
    now_ += milliseconds(100);
  }
  tracker().finish();
  EXPECT_FLOAT_EQ(visits_[1].model_result.score, 0.8F);
  EXPECT_FLOAT_EQ(visits_[1].model_result.top.at(0).score, 1.0F);
}

TEST_F(TrackerTest, AWallClockThatJumpsNeitherSplitsNorReorders) {
  frames("mmm");
  wall_ -= std::chrono::hours(24 * 365);
  frames("mmm");
  wall_ += std::chrono::hours(24 * 730);
  frames("mmm");
  wait(seconds(20));
  EXPECT_EQ(events_.back(), "end 1 turdus-merula at 0.0 for 0.8: 9 of 9");
  wall_ -= std::chrono::hours(24 * 3650);
  frames("rrr");
  ASSERT_EQ(visits_.size(), 2U);
  EXPECT_LT(visits_[2].started_at, visits_[1].started_at);
  EXPECT_GT(visits_[2].id, visits_[1].id);
}

TEST_F(TrackerTest, AClockThatIsSetDuringAVisitTellsItsBeginning) {
  synced_ = false;
  wall_ = WallTime{};
  frames("mmm");
  EXPECT_FALSE(visits_[1].clock_synced);
  synced_ = true;
  wall_ = kNoon;
  frames("m");
  tracker().finish();
  EXPECT_TRUE(visits_[1].clock_synced);
  EXPECT_EQ(visits_[1].started_at, kNoon - milliseconds(300));
}

TEST_F(TrackerTest, ASteadyTimeThatLiesIsTakenAsNow) {
  frames("mm");
  now_ -= std::chrono::minutes(10);
  EXPECT_EQ(end_of("mmm"), "end 1 turdus-merula at 0.0 for 0.1: 5 of 5");
}

TEST_F(TrackerTest, UnusualAndFirstVisitorsAreMarked) {
  frames("sss");
  EXPECT_TRUE(visits_[1].unusual) << "the answers say so";
  wait(seconds(20));
  frames("ppp");
  EXPECT_TRUE(visits_[2].unusual) << "the first ever";
  EXPECT_TRUE(visits_[2].first_of_season);
  wait(seconds(20));
  frames("ppp");
  EXPECT_FALSE(visits_[3].unusual);
  wait(std::chrono::hours(24 * 89));
  frames("mmm");
  EXPECT_FALSE(visits_[4].unusual);
  EXPECT_FALSE(visits_[4].first_of_season);
  wait(std::chrono::hours(24 * 91));
  frames("mmm");
  EXPECT_TRUE(visits_[5].unusual) << "the first of the season";
  EXPECT_TRUE(visits_[5].first_of_season);
  tracker().finish();
  EXPECT_EQ(visits_[5].state, VisitState::kEnded);
  EXPECT_TRUE(visits_[5].first_of_season) << "at its end, too";
}

TEST_F(TrackerTest, NobodyIsNewWhileAllAre) {
  knows_birds_ = false;
  frames("ppp");
  EXPECT_FALSE(visits_[1].unusual) << "the first song thrush, and of all the others as well";
  EXPECT_FALSE(visits_[1].first_of_season);
  wait(seconds(20));
  frames("sss");
  EXPECT_TRUE(visits_[2].unusual) << "for another reason than being new: the answers say so";
  wait(std::chrono::hours(24 * 91));
  frames("mmm");
  EXPECT_FALSE(visits_[3].unusual) << "how long it was away is not known either";
}

TEST_F(TrackerTest, AnOpenVisitGoesOnUnderOtherTimes) {
  frames("mmmmmmmm");
  options_.end_after = seconds(2);
  tracker().retune(options_);
  frames("mmm");
  wait(seconds(3));
  frames("r");
  EXPECT_THAT(events_,
              ElementsAre("start 1 turdus-merula at 0.0 for 0.0: 1 of 1",
                          "end 1 turdus-merula at 0.0 for 1.0: 11 of 11", "start 2 robin at 4.1 for 0.0: 1 of 1"));
}

TEST_F(TrackerTest, LooksOfLongAgoAreNotOfThisVisit) {
  frames("MM");
  wait(seconds(16));
  frames("m");
  EXPECT_THAT(events_, ElementsAre("start 1 turdus-merula at 16.2 for 0.0: 1 of 1"));
}

}  // namespace
}  // namespace kinglet::visits
