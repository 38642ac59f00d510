// SPDX-License-Identifier: Apache-2.0
// Why: what a detector's boxes make of the regions that what moves has given, and what they may not do.
#include "daemon/line/regions/refine.h"

#include <gtest/gtest.h>

#include "daemon/line/regions/tracks.h"

namespace kinglet::daemon {
namespace {

constexpr int kFrameWidth = 640;
constexpr int kFrameHeight = 480;
constexpr Area kMoving{.left = 0.2, .top = 0.2, .width = 0.3, .height = 0.3};

Found bird(const Area& box, float score = 0.8F) {
  return {.box = box, .opinion = {.being = Being::kBird, .score = score}};
}
Found cat(const Area& box) { return {.box = box, .opinion = {.being = Being::kAnimal, .score = 0.7F, .label = 1}}; }

class RefineTest : public ::testing::Test {
 protected:
  Regions regions(std::initializer_list<Area> boxes, ProposedBy by = ProposedBy::kMotion) const {
    Regions made;
    for (const Area& box : boxes) {
      made.items.at(made.count++) = {
          .box = box, .part = scene().square_around(box), .by = by, .track = {}, .opinion = Opinion{}};
    }
    return made;
  }
  Refined refined(Regions& regions, std::initializer_list<Found> found, std::size_t most = 4) {
    Findings findings;
    findings.begin_look();
    for (const Found& one : found) findings.add(one);
    return refine(scene(), findings, tracks_, most, regions);
  }
  // A track at a box, which looks call somebody or not.
  visits::Ulid track_at(const Area& box, bool somebody) {
    Track& track = tracks_.take({.box = box, .by = ProposedBy::kMotion}, SteadyTime(std::chrono::seconds(1)), {});
    visits::Answer answer{.outcome = somebody ? visits::Outcome::kAccepted : visits::Outcome::kBackground,
                          .score = 0.9F};
    tracks_.note(track, answer, answer, SteadyTime(std::chrono::seconds(1)));
    return track.id;
  }
  [[nodiscard]] Scene scene() const { return stage_.scene(model_, frame_, motion_); }

  const camera::FrameView frame_{.width = kFrameWidth, .height = kFrameHeight};
  const std::optional<Motion> motion_;
  RegionStage stage_{{.propose = ProposedBy::kMotion}, std::nullopt};
  visits::IdMaker ids_{1};
  Tracks tracks_{3, ids_, {}};
  LineModel model_ =
      std::move(LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 1}).value());
};

TEST_F(RefineTest, ARegionBecomesTheBirdsBoxWithTheRoomThatSquaresHave) {
  Regions found = regions({kMoving});
  const Area box{.left = 0.3, .top = 0.3, .width = 0.1, .height = 0.12};
  EXPECT_EQ(refined(found, {bird(box)}).tightened, 1U);
  ASSERT_EQ(found.count, 1U);
  EXPECT_EQ(found.items[0].box, box);
  EXPECT_EQ(found.items[0].part, scene().square_around(box));
  EXPECT_LT(found.items[0].part->width, scene().square_around(kMoving).width);
  EXPECT_EQ(found.items[0].opinion->being, Being::kBird);
}

TEST_F(RefineTest, ABirdOfWhichAPartMovesIsSeenWhole) {
  Regions found = regions({{.left = 0.3, .top = 0.3, .width = 0.05, .height = 0.05}});
  const Area box{.left = 0.25, .top = 0.28, .width = 0.2, .height = 0.2};
  refined(found, {bird(box)});
  EXPECT_EQ(found.items[0].box, box);
}

TEST_F(RefineTest, RegionsThatOneBirdSpansAreOne) {
  const Area box{.left = 0.2, .top = 0.2, .width = 0.3, .height = 0.2};
  Regions found = regions({{.left = 0.21, .top = 0.22, .width = 0.06, .height = 0.06},
                           {.left = 0.42, .top = 0.3, .width = 0.06, .height = 0.06},
                           {.left = 0.8, .top = 0.8, .width = 0.1, .height = 0.1}});
  EXPECT_EQ(refined(found, {bird(box)}).merged, 1U);
  ASSERT_EQ(found.count, 2U);
  EXPECT_EQ(found.items[0].box, box);
  EXPECT_DOUBLE_EQ(found.items[1].box.left, 0.8);
  EXPECT_EQ(found.items[1].opinion->being, Being::kNobody);
}

TEST_F(RefineTest, TwoBirdsInARegionAreTwoAndTheSecondComesBehindAllOthers) {
  const Area left{.left = 0.2, .top = 0.3, .width = 0.1, .height = 0.15};
  const Area right{.left = 0.38, .top = 0.3, .width = 0.1, .height = 0.15};
  Regions found = regions({kMoving, {.left = 0.8, .top = 0.8, .width = 0.1, .height = 0.1}});
  EXPECT_EQ(refined(found, {bird(left, 0.6F), bird(right, 0.9F)}).split, 1U);
  ASSERT_EQ(found.count, 3U);
  EXPECT_EQ(found.items[0].box, right) << "the surer one";
  EXPECT_DOUBLE_EQ(found.items[1].box.left, 0.8);
  EXPECT_EQ(found.items[2].box, left);
}

TEST_F(RefineTest, ASecondBirdTakesNoOthersPlace) {
  Regions found = regions({kMoving, {.left = 0.8, .top = 0.8, .width = 0.1, .height = 0.1}});
  const Refined changes = refined(found,
                                  {bird({.left = 0.2, .top = 0.3, .width = 0.1, .height = 0.15}),
                                   bird({.left = 0.38, .top = 0.3, .width = 0.1, .height = 0.15})},
                                  2);
  EXPECT_EQ(changes.split, 0U);
  ASSERT_EQ(found.count, 2U);
  EXPECT_DOUBLE_EQ(found.items[1].box.left, 0.8);
  EXPECT_EQ(found.left_out[static_cast<std::size_t>(LeftOut::kLimit)], 1U);
}

TEST_F(RefineTest, TwoBoxesOverEachOtherAreOneBird) {
  Regions found = regions({kMoving});
  EXPECT_EQ(refined(found, {bird({.left = 0.25, .top = 0.25, .width = 0.1, .height = 0.1}),
                            bird({.left = 0.28, .top = 0.28, .width = 0.1, .height = 0.1}, 0.7F)})
                .split,
            0U);
  EXPECT_EQ(found.count, 1U);
}

TEST_F(RefineTest, TheTrackGoesToTheBirdThatIsNearest) {
  const Area left{.left = 0.2, .top = 0.3, .width = 0.1, .height = 0.15};
  const Area right{.left = 0.38, .top = 0.3, .width = 0.1, .height = 0.15};
  Regions found = regions({kMoving});
  found.items[0].track = track_at(left, false);
  refined(found, {bird(right, 0.9F), bird(left, 0.6F)});
  ASSERT_EQ(found.count, 2U);
  EXPECT_EQ(found.items[0].box, left);
  EXPECT_TRUE(found.items[0].track);
  EXPECT_FALSE(found.items[1].track);
}

// The model's word wins: where it sees somebody, it goes on looking.
TEST_F(RefineTest, ATrackOfSomebodyIsNotTakenAwayByABirdElsewhere) {
  const Area known{.left = 0.2, .top = 0.2, .width = 0.1, .height = 0.1};
  Regions found = regions({kMoving});
  found.items[0].track = track_at(known, true);
  refined(found, {bird({.left = 0.4, .top = 0.4, .width = 0.1, .height = 0.1})});
  ASSERT_EQ(found.count, 1U);
  EXPECT_EQ(found.items[0].box, kMoving);
}

TEST_F(RefineTest, ATrackOfSomebodyIsNotMerged) {
  const Area part{.left = 0.42, .top = 0.3, .width = 0.06, .height = 0.06};
  Regions found = regions({{.left = 0.21, .top = 0.22, .width = 0.06, .height = 0.06}, part});
  found.items[1].track = track_at(part, true);
  EXPECT_EQ(refined(found, {bird({.left = 0.2, .top = 0.2, .width = 0.3, .height = 0.2})}).merged, 0U);
  ASSERT_EQ(found.count, 2U);
  EXPECT_EQ(found.items[1].box, part);
}

TEST_F(RefineTest, WhereItFindsNobodyTheRegionIsAsItWas) {
  Regions found = regions({kMoving});
  const Refined changes = refined(found, {});
  EXPECT_EQ(changes.merged + changes.split + changes.tightened, 0U);
  ASSERT_EQ(found.count, 1U);
  EXPECT_EQ(found.items[0].box, kMoving);
  EXPECT_EQ(found.items[0].opinion->being, Being::kNobody);
}

TEST_F(RefineTest, AnotherAnimalIsAnOpinionAndChangesNoRegion) {
  Regions found = regions({kMoving});
  refined(found, {cat({.left = 0.2, .top = 0.2, .width = 0.28, .height = 0.28})});
  EXPECT_EQ(found.items[0].box, kMoving);
  EXPECT_EQ(found.items[0].opinion, (Opinion{.being = Being::kAnimal, .score = 0.7F, .label = 1}));
}

TEST_F(RefineTest, ABirdBesideACatIsABird) {
  Regions found = regions({kMoving});
  refined(found, {cat({.left = 0.1, .top = 0.1, .width = 0.5, .height = 0.5}),
                  bird({.left = 0.3, .top = 0.3, .width = 0.1, .height = 0.1}, 0.5F)});
  EXPECT_EQ(found.items[0].opinion->being, Being::kBird);
}

TEST_F(RefineTest, APlaceStaysWhereItsOwnerPutIt) {
  Regions found = regions({kMoving}, ProposedBy::kFixed);
  refined(found, {bird({.left = 0.3, .top = 0.3, .width = 0.1, .height = 0.12})});
  EXPECT_EQ(found.items[0].box, kMoving);
  EXPECT_EQ(found.items[0].opinion->being, Being::kBird);
}

TEST_F(RefineTest, ABirdOutsideOfTheOwnersPartIsNone) {
  stage_ = RegionStage({.propose = ProposedBy::kMotion}, Area{.left = 0, .top = 0, .width = 0.35, .height = 1});
  const Area box{.left = 0.2, .top = 0.2, .width = 0.15, .height = 0.2};
  Regions found = regions({box});
  refined(found, {bird({.left = 0.3, .top = 0.2, .width = 0.15, .height = 0.2})});
  EXPECT_EQ(found.items[0].box, box);
}

TEST_F(RefineTest, WhoWasNotAskedHasNoOpinion) {
  Regions found = regions({kMoving});
  found.items[0].opinion.reset();
  refined(found, {bird({.left = 0.3, .top = 0.3, .width = 0.1, .height = 0.12})});
  EXPECT_EQ(found.items[0].box, kMoving);
  EXPECT_FALSE(found.items[0].opinion);
}

TEST(FindingsTest, WhatTwoPartsOfAFrameShowIsOneAndTheWholeOfIt) {
  Findings findings;
  findings.begin_look();
  findings.add(bird({.left = 0.4, .top = 0.4, .width = 0.05, .height = 0.1}, 0.9F));  // cut at the part's border
  findings.begin_look();
  findings.add(bird({.left = 0.38, .top = 0.4, .width = 0.1, .height = 0.1}, 0.6F));
  findings.add(cat({.left = 0.38, .top = 0.4, .width = 0.1, .height = 0.1}));
  ASSERT_EQ(findings.all().size(), 2U);
  EXPECT_DOUBLE_EQ(findings.all()[0].box.width, 0.1);
  EXPECT_FLOAT_EQ(findings.all()[0].opinion.score, 0.9F);
}

TEST(FindingsTest, OfAPersonIsAllThatTwoPartsShow) {
  const auto person = [](const Area& box) {
    return Found{.box = box, .opinion = {.being = Being::kPerson, .score = 0.5F}};
  };
  Findings findings;
  findings.begin_look();
  findings.add(person({.left = 0.4, .top = 0.4, .width = 0.2, .height = 0.4}));
  findings.begin_look();
  findings.add(person({.left = 0.5, .top = 0.3, .width = 0.05, .height = 0.2}));  // the head
  findings.add(person({.left = 0.5, .top = 0.35, .width = 0.1, .height = 0.2}));
  ASSERT_EQ(findings.all().size(), 2U);
  EXPECT_DOUBLE_EQ(findings.all()[0].box.top, 0.35);
  EXPECT_DOUBLE_EQ(findings.all()[0].box.height, 0.45);
}

TEST(FindingsTest, OneLookBesideAnotherOfTheSameKindMayFindTwo) {
  Findings findings;
  findings.begin_look();
  findings.add(bird({.left = 0.4, .top = 0.4, .width = 0.1, .height = 0.1}));
  findings.add(bird({.left = 0.42, .top = 0.4, .width = 0.1, .height = 0.1}));
  EXPECT_EQ(findings.all().size(), 2U);
}

TEST(OpinionsTest, OfATrackIsWhatMostLooksSay) {
  Opinions opinions;
  const Opinion squirrel{.being = Being::kAnimal, .score = 0.5F, .label = 3};
  opinions.add({});
  opinions.add(squirrel);
  EXPECT_FALSE(opinions.mostly()) << "of two minds";
  opinions.add(squirrel);
  EXPECT_EQ(opinions.mostly(), squirrel);
}

TEST(OpinionsTest, OfOneLookAreNone) {
  Opinions opinions;
  EXPECT_FALSE(opinions.mostly());
  opinions.add({});
  EXPECT_FALSE(opinions.mostly());
  opinions.add({});
  EXPECT_EQ(opinions.mostly()->being, Being::kNobody);
}

TEST(BeingTest, IsSaidByTheClassesName) {
  EXPECT_EQ(being_of("bird"), Being::kBird);
  EXPECT_EQ(being_of("Person"), Being::kPerson);
  EXPECT_EQ(being_of("squirrel"), Being::kAnimal);
  EXPECT_EQ(being_of("potted plant"), Being::kNobody);
}

}  // namespace
}  // namespace kinglet::daemon
