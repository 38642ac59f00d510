// SPDX-License-Identifier: Apache-2.0
// Why: whom the detector has found is black in all that is kept or sent of the frames around that time, and nothing
// else is; where nobody has looked, all is.
#include "daemon/capture/people/people.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "camera/decode/decode.h"
#include "daemon/answer/unnamed_tracks.h"
#include "daemon/capture/clip_file.h"
#include "daemon/capture/clip_recorder.h"
#include "daemon/capture/frame_jpeg.h"
#include "daemon/capture/frame_samples.h"
#include "daemon/capture/snapshot.h"
#include "daemon/capture/visit_pictures.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kWidth = 160;
constexpr int kHeight = 120;
constexpr Area kPerson{.left = 0.5, .top = 0.25, .width = 0.25, .height = 0.5};  // with its room 74 to 126, 21 to 99
const SteadyTime kSeen{seconds(1000)};

camera::Image bright() {
  return {.width = kWidth, .height = kHeight, .rgb = std::vector<std::byte>(3 * kWidth * kHeight, std::byte{200})};
}

camera::Image decoded(const std::string& jpeg) {
  return camera::decode_image(std::as_bytes(std::span(jpeg)), {}, camera::Upright::kAsStored).value().image;
}

// Is the person black and the rest as it was? `x`, `y`: where in the frame the picture begins.
void expect_hidden(const std::string& jpeg, int x = 0, int y = 0) {
  ASSERT_FALSE(jpeg.empty());
  const camera::Image image = decoded(jpeg);
  const auto level = [&](int column, int row) {
    const auto at = 3 * (static_cast<std::size_t>(row - y) * static_cast<std::size_t>(image.width) +
                         static_cast<std::size_t>(column - x));
    return std::to_integer<int>(image.rgb.at(at));
  };
  for (const auto& [column, row] : {std::pair(81, 31), std::pair(118, 88), std::pair(100, 60)}) {
    EXPECT_LT(level(column, row), 10) << column << "," << row;
  }
  for (const auto& [column, row] : {std::pair(60, 60), std::pair(100, 12), std::pair(65, 105)}) {
    EXPECT_GT(level(column, row), 180) << column << "," << row;
  }
}

bool is_bright(const std::string& jpeg) {
  const camera::Image image = decoded(jpeg);
  return std::ranges::all_of(image.rgb, [](std::byte value) { return std::to_integer<int>(value) > 180; });
}
bool is_black(const std::string& jpeg) {
  const camera::Image image = decoded(jpeg);
  return std::ranges::all_of(image.rgb, [](std::byte value) { return std::to_integer<int>(value) < 10; });
}

class PeopleTest : public ::testing::Test {
 protected:
  // Looks every second, until `until` after kSeen.
  void look_until(seconds until) {
    for (seconds at(-10); at <= until; at += seconds(1)) people_->looked(kSeen + at);
  }

  [[nodiscard]] camera::Frame frame() const {
    return {picture_.view(), {.sequence = 1, .captured_at = kSeen + seconds(1)}, {}};
  }
  [[nodiscard]] static Prediction prediction_of(const visits::Ulid& id) {
    Prediction prediction;
    prediction.regions[0] = {
        .track = id, .crop = {40, 0, 100, 120}, .visit = id, .best_of_visit = true, .best_unnamed = true};
    prediction.region_count = 1;
    return prediction;
  }
  [[nodiscard]] visits::Visit visit_of(const visits::Ulid& id) const {
    visits::Visit visit = store::make_visit(1);
    visit.id = "vis_" + std::string(id.view());
    visit.duration = {};
    return visit;
  }

  camera::Image picture_ = bright();
  visits::IdMaker ids_{1};
  bool sees_ = true;
  const std::shared_ptr<People> people_ = std::make_shared<People>([this] { return sees_; });
};

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
  EXPECT_THAT(people_->areas(kSeen + seconds(3)), IsEmpty());
  EXPECT_THAT(people_->areas(kSeen + seconds(5)), ElementsAre(Area{})) << "not any more";
  sees_ = false;
  EXPECT_THAT(people_->areas(kSeen), ElementsAre(Area{})) << "the detector failed";
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
  camera::FrameView view{.format = camera::PixelFormat::kMjpeg, .width = kWidth, .height = kHeight};
  view.planes[0] = {.bytes = jpeg, .stride = 0};
  view.plane_count = 1;
  SnapshotBoard board(people_);
  board.offer(view, {.captured_at = kSeen + seconds(1)}, SteadyClock::now());
  const auto snapshot = board.get(0).value();
  expect_hidden({reinterpret_cast<const char*>(snapshot->jpeg.data()), snapshot->jpeg.size()});
}

TEST_F(PeopleTest, AreHiddenInAPictureThatWasShownBeforeTheyWereFound) {
  look_until(seconds(5));
  const camera::Image picture = bright();
  SnapshotBoard board(people_);
  board.offer(picture.view(), {.captured_at = kSeen + seconds(1)}, SteadyClock::now());
  const auto before = board.get(0).value();
  people_->seen(kSeen + seconds(1), kPerson);
  const auto after = board.get(0).value();
  EXPECT_NE(before, after);
  expect_hidden({reinterpret_cast<const char*>(after->jpeg.data()), after->jpeg.size()});
}

TEST_F(PeopleTest, AreHiddenInASampleThatWasKeptBeforeTheyWereFound) {
  look_until(seconds(5));
  const camera::Image picture = bright();
  FrameSamples samples({.count = 2}, {}, people_);
  samples.offer({picture.view(), {.captured_at = kSeen + seconds(1)}, {}}, SteadyClock::now());
  for (int i = 0; i < 1000 && samples.newest(1).empty(); ++i) std::this_thread::sleep_for(milliseconds(10));
  people_->seen(kSeen + seconds(1), kPerson);
  ASSERT_EQ(samples.newest(1).size(), 1U);
  expect_hidden(samples.newest(1)[0]->jpeg);
}

// Seen after the picture was taken, and before it is written.
TEST_F(HiddenPeopleTest, InTheStoredPicturesOfAVisit) {
  const store::ScratchFolder folder;
  store::Store history(store::quiet_options(folder.path()));
  VisitPictures pictures(history, nullptr, {}, people_);
  const visits::Ulid id = ids_.next(WallTime(seconds(1000)));
  const visits::Visit visit = visit_of(id);
  pictures.visit_began(visit);
  const camera::Frame early(picture_.view(), {.captured_at = kSeen - seconds(2)}, {});
  pictures.look(early, prediction_of(id));
  history.put(visit);
  pictures.visit_ended(visit);
  ASSERT_TRUE(history.flush());
  const auto whole = history.picture(visit.id, store::Picture::kFrame);
  ASSERT_TRUE(whole) << describe(whole.error());
  expect_hidden(*whole);
  const auto crop = history.picture(visit.id, store::Picture::kCrop);
  ASSERT_TRUE(crop) << describe(crop.error());
  expect_hidden(*crop, 40, 0);
}

// It is not written later, when a look has found who has just come in.
TEST_F(PeopleTest, TheFirstPictureOfAVisitIsBlackWhereNobodyHasLookedSince) {
  for (const bool looked : {false, true}) {
    look_until(looked ? seconds(1) : seconds(0));
    const store::ScratchFolder folder;
    store::Store history(store::quiet_options(folder.path()));
    VisitPictures pictures(history, nullptr, {}, people_);
    const visits::Ulid id = ids_.next(WallTime(seconds(1000)));
    const visits::Visit visit = visit_of(id);
    history.put(visit);
    pictures.visit_began(visit);
    pictures.look(frame(), prediction_of(id));
    ASSERT_TRUE(history.flush());
    const auto crop = history.picture(visit.id, store::Picture::kCrop);
    ASSERT_TRUE(crop) << describe(crop.error());
    EXPECT_EQ(is_black(*crop), !looked);
    EXPECT_EQ(is_bright(*crop), looked);
  }
}

// The daemon may end, or be paused, before a look finds who has just come in.
TEST_F(PeopleTest, ThePicturesOfAVisitThatEndsBeforeTheNextLookAreBlack) {
  for (const bool looked : {false, true}) {
    look_until(looked ? seconds(1) : seconds(0));
    const store::ScratchFolder folder;
    store::Store history(store::quiet_options(folder.path()));
    VisitPictures pictures(history, nullptr, {}, people_);
    const visits::Ulid id = ids_.next(WallTime(seconds(1000)));
    const visits::Visit visit = visit_of(id);
    pictures.look(frame(), prediction_of(id));
    history.put(visit);
    pictures.visit_ended(visit);
    history.finish();
    for (const store::Picture kind : {store::Picture::kFrame, store::Picture::kCrop}) {
      const auto picture = history.picture(visit.id, kind);
      ASSERT_TRUE(picture) << describe(picture.error());
      EXPECT_EQ(is_black(*picture), !looked);
      EXPECT_EQ(is_bright(*picture), looked);
    }
  }
}

// Of a visit that began at `now`; somebody was there from two seconds before it on, and `hidden` pictures show him.
class HiddenClipTest : public PeopleTest {
 protected:
  void record(int hidden) {
    people_->seen(now_ + seconds(1), kPerson);
    record(hidden, seconds(10));
  }
  void record(int hidden, seconds looked_until) {
    for (seconds at(-10); at <= looked_until; at += seconds(1)) people_->looked(now_ + at);
    add(now_ - milliseconds(2500));
    for (int i = 0; i < hidden; ++i) add(now_ + milliseconds(200) * i);
    pictures_.visit_began(visit_);
    for (int i = 0; i < 1000 && clips_.status().frames < 1U + static_cast<unsigned>(hidden); ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    pictures_.look({picture_.view(), {.captured_at = now_}, {}}, prediction_of(id_));
    history_.put(visit_);
  }
  void add(SteadyTime at) {
    const std::uint64_t before = clips_.status().frames;
    clips_.offer(picture_.view(), {.captured_at = at, .captured_wall = WallTime(at.time_since_epoch())}, at);
    for (int i = 0; i < 1000 && clips_.status().frames == before; ++i) std::this_thread::sleep_for(milliseconds(10));
  }
  // The store is to end before it comes to the visit's pictures.
  void end_in_a_hurry() {
    std::promise<void> ends;
    history_.add_pictures(history_.next_seq(), [wait = ends.get_future()]() mutable {
      wait.wait();
      return store::Pictures{};
    });
    pictures_.visit_ended(visit_);
    history_.begin_finish();
    ends.set_value();
    history_.finish();
  }
  std::vector<std::string> kept() {
    std::vector<std::string> jpegs;
    const auto clip = history_.picture(visit_.id, store::Picture::kClip);
    EXPECT_TRUE(clip) << describe(clip.error());
    if (!clip) return jpegs;
    for (std::string_view rest = *clip; !rest.empty();) {
      const auto part = take_part(rest);
      if (!part) break;
      jpegs.emplace_back(part->jpeg);
    }
    return jpegs;
  }

  const SteadyTime now_ = SteadyClock::now();
  const store::ScratchFolder folder_;
  store::Store history_{store::quiet_options(folder_.path())};
  ClipRecorder clips_{{.limits = {.before = seconds(60)}}, {}};  // however long the test is held up
  VisitPictures pictures_{history_, &clips_, {}, people_};
  const visits::Ulid id_ = ids_.next(WallTime(seconds(1000)));
  const visits::Visit visit_ = visit_of(id_);
};

TEST_F(HiddenClipTest, EachPictureOfTheClipHidesThemAsOfItsTime) {
  record(3);
  pictures_.visit_ended(visit_);
  ASSERT_TRUE(history_.flush());
  const auto jpegs = kept();
  ASSERT_EQ(jpegs.size(), 4U);
  EXPECT_TRUE(is_bright(jpegs[0])) << "nobody was there yet";
  for (std::size_t i = 1; i < jpegs.size(); ++i) expect_hidden(jpegs[i]);
}

TEST_F(HiddenClipTest, PicturesOfAfterTheLastLookAreBlack) {
  record(2, seconds(0));
  pictures_.visit_ended(visit_);
  ASSERT_TRUE(history_.flush());
  const auto jpegs = kept();
  ASSERT_EQ(jpegs.size(), 3U);
  EXPECT_TRUE(is_bright(jpegs[0]));
  EXPECT_TRUE(is_bright(jpegs[1])) << "the one that was looked at";
  EXPECT_TRUE(is_black(jpegs[2]));
}

TEST_F(HiddenClipTest, AtTheEndPicturesOfAfterTheLastLookAreLeftOut) {
  record(2, seconds(0));
  end_in_a_hurry();
  const auto jpegs = kept();
  ASSERT_EQ(jpegs.size(), 2U);
  for (const std::string& jpeg : jpegs) EXPECT_TRUE(is_bright(jpeg));
}

// There is no time to paint over what is left, and none of it is kept as it is.
TEST_F(HiddenClipTest, AtTheEndPicturesThatWouldHaveToBePaintedAreLeftOut) {
  record(20);
  end_in_a_hurry();
  const auto jpegs = kept();
  ASSERT_GE(jpegs.size(), 1U);
  EXPECT_LT(jpegs.size(), 21U);
  EXPECT_TRUE(is_bright(jpegs[0]));
  for (std::size_t i = 1; i < jpegs.size(); ++i) expect_hidden(jpegs[i]);
}

TEST_F(HiddenPeopleTest, InTheFramesOfAClipAroundThatTime) {
  ClipFrames clip;
  const std::string jpeg = jpeg_of(picture_, 90).value();
  for (const seconds at : {seconds(-9), seconds(-2), seconds(3)}) {
    clip.push_back(std::make_shared<const ClipFrame>(ClipFrame{.at = kSeen + at, .wall = {}, .jpeg = jpeg}));
  }
  ClipFrames shown;
  for (const auto& frame : clip) shown.push_back(people_->hidden_now(frame));
  EXPECT_EQ(shown[0], clip[0]) << "nobody was there yet";
  expect_hidden(shown[1]->jpeg);
  expect_hidden(shown[2]->jpeg);
}

TEST_F(HiddenPeopleTest, InThePictureOfATrackWithoutAName) {
  std::vector<std::string> warnings;
  const auto rule = visits::Rule::make(
      std::make_shared<const visits::Taxa>(
          visits::Taxa::make(engine::Labels::parse("Turdus merula\nbackground\n", "l.txt").value()).value()),
      {}, warnings);
  UnnamedTracks tracks;
  Track track(2);
  track.id = ids_.next(WallTime(seconds(1000)));
  track.by = ProposedBy::kMotion;
  track.answer.outcome = Outcome::kBelowThreshold;
  tracks.look(frame(), prediction_of(track.id), people_);
  tracks.ended(track, *rule, "camera", "m", "sha256:0");
  const auto kept = tracks.list(1, [](const UnnamedTrack&) { return true; });
  ASSERT_EQ(kept.size(), 1U);
  expect_hidden(kept[0]->crop, 40, 0);
}

TEST_F(HiddenPeopleTest, InTheSamplesForCalibration) {
  FrameSamples samples({.count = 2}, {}, people_);
  samples.offer(frame(), SteadyClock::now());
  for (int i = 0; i < 1000 && samples.newest(1).empty(); ++i) std::this_thread::sleep_for(milliseconds(10));
  ASSERT_EQ(samples.newest(1).size(), 1U);
  expect_hidden(samples.newest(1)[0]->jpeg);
}

}  // namespace
}  // namespace kinglet::daemon
