// SPDX-License-Identifier: Apache-2.0
// Why: whom the detector has found is black in all that is kept or sent of the frames around that time, and nothing
// else is; where nobody has looked, all is.
#include "daemon/capture/people/people.h"

#include <thread>

#include "daemon/answer/unnamed_tracks.h"
#include "daemon/capture/frame_samples.h"
#include "daemon/capture/snapshot.h"
#include "daemon/capture/visit_pictures.h"
#include "tests/unit/daemon/people_support.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(PeopleTest, AreHiddenFromBeforeTheyWereSeenUntilSomeTimeAfter) {
  look_until(seconds(60));
  for (seconds at(0); at <= seconds(5); at += seconds(1)) people_->seen(kSeen + at, kPerson);
  EXPECT_THAT(people_->areas(kSeen - seconds(4)), IsEmpty());
  EXPECT_THAT(people_->areas(kSeen - seconds(2)), SizeIs(1));
  EXPECT_THAT(people_->areas(kSeen + seconds(3)), SizeIs(1));
  EXPECT_THAT(people_->areas(kSeen + seconds(8)), SizeIs(1));
  EXPECT_THAT(people_->areas(kSeen + seconds(10)), IsEmpty());
}

TEST_F(PeopleTest, WhoWalksByIsHiddenWhereHeWas) {
  look_until(seconds(60));
  Area walking = kPerson;
  for (int i = 0; i < 20; ++i) {
    walking.left = 0.02 * i;
    people_->seen(kSeen + milliseconds(500) * i, walking);
  }
  for (const Area& area : people_->areas(kSeen + seconds(9))) {
    EXPECT_LT(area.width, 0.7) << "not the whole way";
  }
  EXPECT_GT(people_->areas(kSeen + seconds(9)).size(), 1U);
}

// Looks may be further apart than somebody is hidden before he is seen.
TEST_F(PeopleTest, WhoCameRightAfterALookIsHiddenFromThereOn) {
  people_->looked(kSeen);
  people_->seen(kSeen + seconds(6), kPerson);
  people_->looked(kSeen + seconds(6));
  for (milliseconds after(0); after <= seconds(6); after += milliseconds(500)) {
    EXPECT_THAT(people_->areas(kSeen + after), SizeIs(1)) << after;
  }
}

TEST_F(PeopleTest, WhereNobodyHasLookedAllIsBlack) {
  EXPECT_THAT(people_->areas(kSeen), ElementsAre(Area{})) << "not yet";
  look_until(seconds(0));
  EXPECT_THAT(people_->areas(kSeen), IsEmpty());
  EXPECT_THAT(people_->areas(kSeen + seconds(1)), ElementsAre(Area{})) << "not any more";
  EXPECT_THAT(people_->areas_live(kSeen + seconds(3)), IsEmpty());
  EXPECT_THAT(people_->areas_live(kSeen + seconds(5)), ElementsAre(Area{})) << "not any more";
  sees_ = false;
  EXPECT_THAT(people_->areas(kSeen), ElementsAre(Area{})) << "the detector failed";
}

// Who came and went between them was seen by nobody.
TEST_F(PeopleTest, BetweenLooksThatAreFarApartAllIsBlack) {
  people_->looked(kSeen);
  people_->looked(kSeen + seconds(20));
  EXPECT_THAT(people_->areas(kSeen + seconds(1)), ElementsAre(Area{}));
  EXPECT_THAT(people_->areas(kSeen + seconds(16)), ElementsAre(Area{}));
  EXPECT_THAT(people_->areas(kSeen + seconds(18)), IsEmpty());
}

// Whoever is found next may have been missed for as long before the newest look as he is hidden.
TEST_F(PeopleTest, APictureIsKnownOnceNoLookCanHideAnybodyElseInIt) {
  for (seconds at(-4); at <= seconds(1); at += seconds(1)) {
    const auto people = std::make_shared<People>([] { return true; });
    for (seconds look(-8); look <= seconds(0); look += seconds(1)) people->looked(kSeen + look);
    ASSERT_EQ(people->areas(kSeen + at).empty(), at <= seconds(0)) << at;
    const bool is_known = people->is_known(kSeen + at);
    people->seen(kSeen + seconds(2), kPerson);
    people->looked(kSeen + seconds(2));
    EXPECT_EQ(people->areas(kSeen + at).empty(), is_known) << at;
  }
}

TEST_F(PeopleTest, WhatIsForgottenIsBlack) {
  look_until(seconds(2000));
  for (int i = 0; i < 300; ++i) people_->seen(kSeen + seconds(6) * i, kPerson);
  EXPECT_THAT(people_->areas(kSeen), ElementsAre(Area{}));
  EXPECT_THAT(people_->areas(kSeen + seconds(1795)), SizeIs(1));
}

class HiddenPeopleTest : public PeopleTest {
 protected:
  void SetUp() override {
    look_until(seconds(5));
    people_->seen(kSeen, kPerson);
  }
};

TEST_F(HiddenPeopleTest, InTheNewestPicture) {
  SnapshotBoard board(people_);
  board.offer(picture_.view(), {.captured_at = kSeen + seconds(1)}, SteadyClock::now());
  const auto snapshot = board.get(0).value();
  expect_hidden({reinterpret_cast<const char*>(snapshot->jpeg.data()), snapshot->jpeg.size()});
}

TEST_F(HiddenPeopleTest, InTheNewestPictureOfACameraThatGivesJpegs) {
  const std::vector<std::byte> jpeg = camera::encode_jpeg(picture_.view(), 90).value();
  camera::FrameView view{.format = camera::PixelFormat::kMjpeg, .width = kPictureWidth, .height = kPictureHeight};
  view.planes[0] = {.bytes = jpeg, .stride = 0};
  view.plane_count = 1;
  SnapshotBoard board(people_);
  board.offer(view, {.captured_at = kSeen + seconds(1)}, SteadyClock::now());
  const auto snapshot = board.get(0).value();
  expect_hidden({reinterpret_cast<const char*>(snapshot->jpeg.data()), snapshot->jpeg.size()});
}

// A live picture is newer than any look.
TEST_F(PeopleTest, AreHiddenInALivePictureOnceTheyAreFound) {
  look_until(seconds(0));
  const camera::Image picture = bright();
  SnapshotBoard board(people_);
  board.offer(picture.view(), {.captured_at = kSeen + seconds(1)}, SteadyClock::now());
  const auto before = board.get(0).value();
  EXPECT_TRUE(is_bright({reinterpret_cast<const char*>(before->jpeg.data()), before->jpeg.size()}));
  people_->seen(kSeen + seconds(1), kPerson);
  const auto after = board.get(0).value();
  EXPECT_NE(before, after);
  expect_hidden({reinterpret_cast<const char*>(after->jpeg.data()), after->jpeg.size()});
}

TEST_F(PeopleTest, AreHiddenOnceTheyAreFoundForWhoWatchesSlowlyAsWell) {
  look_until(seconds(0));
  SnapshotBoard board(people_);
  board.offer(picture_.view(), {.captured_at = kSeen + seconds(1)}, SteadyClock::now());
  ASSERT_TRUE(board.get(0, seconds(5)));
  people_->seen(kSeen + seconds(1), kPerson);
  std::this_thread::sleep_for(milliseconds(300));
  const auto after = board.get(0, seconds(5)).value();
  expect_hidden({reinterpret_cast<const char*>(after->jpeg.data()), after->jpeg.size()});
}

TEST_F(PeopleTest, AreHiddenInASampleThatWasKeptBeforeTheyWereFound) {
  look_until(seconds(5));
  const camera::Image picture = bright();
  FrameSamples samples({.count = 2}, {}, people_);
  samples.offer({picture.view(), {.captured_at = kSeen + seconds(1)}, {}}, SteadyClock::now());
  for (int i = 0; i < 6000 && samples.newest(1).empty(); ++i) std::this_thread::sleep_for(milliseconds(10));
  people_->seen(kSeen + seconds(1), kPerson);
  ASSERT_EQ(samples.newest(1).size(), 1U);
  expect_hidden(samples.newest(1)[0]->jpeg);
}

TEST_F(PeopleTest, WhomLooksHaveMissedSoFarIsInNoSampleThatIsHandedOut) {
  look_until(seconds(0));
  FrameSamples samples({.count = 2}, {}, people_);
  samples.offer(frame(), SteadyClock::now());
  for (int i = 0; i < 30; ++i) {
    EXPECT_THAT(samples.newest(1), IsEmpty()) << "nobody has looked since";
    std::this_thread::sleep_for(milliseconds(10));
  }
  for (const seconds at : {seconds(1), seconds(4)}) {
    people_->looked(kSeen + at);
    EXPECT_THAT(samples.newest(1), IsEmpty()) << "the next look may find whom this one missed";
  }
  people_->seen(kSeen + seconds(5), kPerson);
  people_->looked(kSeen + seconds(5));
  for (int i = 0; i < 6000 && samples.newest(1).empty(); ++i) std::this_thread::sleep_for(milliseconds(10));
  ASSERT_THAT(samples.newest(1), SizeIs(1));
  expect_hidden(samples.newest(1)[0]->jpeg);
  sees_ = false;
  EXPECT_THAT(samples.newest(1), IsEmpty()) << "black as a whole";
}

// The newest of all mostly waits.
TEST_F(PeopleTest, ASampleThatWaitsForALookLeavesItsPlaceToTheOneBeforeIt) {
  look_until(seconds(5));
  FrameSamples samples({.count = 2}, {}, people_);
  samples.offer(frame(), SteadyClock::now());
  for (int i = 0; i < 6000 && samples.newest(1).empty(); ++i) std::this_thread::sleep_for(milliseconds(10));
  samples.offer({picture_.view(), {.sequence = 2, .captured_at = kSeen + seconds(4)}, {}},
                SteadyClock::now() + seconds(60));
  for (int i = 0; i < 30; ++i) {
    ASSERT_THAT(samples.newest(1), SizeIs(1));
    EXPECT_EQ(samples.newest(1)[0]->info.sequence, 1U);
    std::this_thread::sleep_for(milliseconds(10));
  }
  people_->looked(kSeen + seconds(8));
  for (int i = 0; i < 6000 && samples.newest(2).size() < 2; ++i) std::this_thread::sleep_for(milliseconds(10));
  ASSERT_THAT(samples.newest(1), SizeIs(1));
  EXPECT_EQ(samples.newest(1)[0]->info.sequence, 2U);
}

// Seen after the picture was taken, and before it is written.
TEST_F(HiddenPeopleTest, InTheStoredPicturesOfAVisit) {
  AtHand at(*this);
  at.pictures.visit_began(at.visit);
  const camera::Frame early(picture_.view(), {.captured_at = kSeen - seconds(2)}, {});
  at.pictures.look(early, prediction_of(at.id));
  at.history.put(at.visit);
  at.pictures.visit_ended(at.visit);
  ASSERT_TRUE(at.history.flush());
  expect_hidden(at.kept(store::Picture::kFrame));
  expect_hidden(at.kept(store::Picture::kCrop), 40, 0);
}

// It is not written later, when a look has found who has just come in.
TEST_F(PeopleTest, TheFirstPictureOfAVisitIsBlackWhereNobodyHasLookedSince) {
  for (const bool looked : {false, true}) {
    look_until(looked ? seconds(1) : seconds(0));
    AtHand at(*this);
    at.history.put(at.visit);
    at.pictures.visit_began(at.visit);
    at.pictures.look(frame(), prediction_of(at.id));
    ASSERT_TRUE(at.history.flush());
    const std::string crop = at.kept(store::Picture::kCrop);
    EXPECT_EQ(is_black(crop), !looked);
    EXPECT_EQ(is_bright(crop), looked);
  }
}

// The daemon may end, or be paused, before a look finds who has just come in.
TEST_F(PeopleTest, ThePicturesOfAVisitThatEndsBeforeTheNextLookAreBlack) {
  for (const bool looked : {false, true}) {
    look_until(looked ? seconds(1) : seconds(0));
    AtHand at(*this);
    at.pictures.look(frame(), prediction_of(at.id));
    at.history.put(at.visit);
    at.pictures.visit_ended(at.visit);
    at.history.finish();
    for (const store::Picture kind : {store::Picture::kFrame, store::Picture::kCrop}) {
      const std::string picture = at.kept(kind);
      EXPECT_EQ(is_black(picture), !looked);
      EXPECT_EQ(is_bright(picture), looked);
    }
  }
}

class UnnamedPeopleTest : public PeopleTest {
 protected:
  // A track whose best look saw the frame has ended.
  void end_track() {
    Track track(2);
    track.id = ids_.next(WallTime(seconds(1000)));
    track.by = ProposedBy::kMotion;
    track.answer.outcome = Outcome::kBelowThreshold;
    tracks_.look(frame(), prediction_of(track.id), people_);
    tracks_.ended(track, *rule_, "camera", "m", "sha256:0");
  }
  UnnamedTracks::Shared kept() {
    const auto all = tracks_.list(2, [](const UnnamedTrack&) { return true; });
    EXPECT_THAT(all, SizeIs(1));
    return all.at(0);
  }

  std::vector<std::string> warnings_;
  const std::shared_ptr<const visits::Rule> rule_ = visits::Rule::make(
      std::make_shared<const visits::Taxa>(
          visits::Taxa::make(engine::Labels::parse("Turdus merula\nbackground\n", "l.txt").value()).value()),
      {}, warnings_);
  UnnamedTracks tracks_;
};

TEST_F(UnnamedPeopleTest, AreHiddenInThePictureOfATrackWithoutAName) {
  look_until(seconds(5));
  people_->seen(kSeen, kPerson);
  end_track();
  expect_hidden(kept()->crop, 40, 0);
}

TEST_F(UnnamedPeopleTest, WhomLooksHaveMissedSoFarIsNotInThePictureOfATrackWithoutAName) {
  look_until(seconds(0));
  end_track();
  EXPECT_TRUE(kept()->crop.empty()) << "nobody has looked since";
  // Taken and given back it goes on waiting.
  const auto taken = tracks_.take(kept()->id);
  ASSERT_TRUE(taken);
  tracks_.give_back(taken);
  for (const seconds at : {seconds(1), seconds(4)}) {
    people_->looked(kSeen + at);
    EXPECT_TRUE(kept()->crop.empty()) << "the next look may find whom this one missed";
  }
  people_->seen(kSeen + seconds(5), kPerson);
  people_->looked(kSeen + seconds(5));
  expect_hidden(kept()->crop, 40, 0);
  sees_ = false;
  expect_hidden(kept()->crop, 40, 0);
}

TEST_F(HiddenPeopleTest, InTheSamplesForCalibration) {
  FrameSamples samples({.count = 2}, {}, people_);
  samples.offer(frame(), SteadyClock::now());
  for (int i = 0; i < 6000 && samples.newest(1).empty(); ++i) std::this_thread::sleep_for(milliseconds(10));
  ASSERT_EQ(samples.newest(1).size(), 1U);
  expect_hidden(samples.newest(1)[0]->jpeg);
}

}  // namespace
}  // namespace kinglet::daemon
