// SPDX-License-Identifier: Apache-2.0
// Why: people are hidden in each picture of a clip as of its time, also where the daemon ends; painting takes steps and
// no more memory than the clip.
#include <future>
#include <thread>

#include "daemon/capture/clips/clip_file.h"
#include "daemon/capture/clips/clip_recorder.h"
#include "daemon/capture/frame_jpeg.h"
#include "daemon/capture/people/painted_clip.h"
#include "daemon/capture/visit_pictures.h"
#include "tests/unit/daemon/people_support.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

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
    for (int i = 0; i < 6000 && clips_.status().frames < 1U + static_cast<unsigned>(hidden); ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    pictures_.look({picture_.view(), {.captured_at = now_}, {}}, prediction_of(id_));
    history_.put(visit_);
  }
  void add(SteadyTime at) {
    const std::uint64_t before = clips_.status().frames;
    clips_.offer(picture_.view(), {.captured_at = at, .captured_wall = WallTime(at.time_since_epoch())}, at);
    for (int i = 0; i < 6000 && clips_.status().frames == before; ++i) std::this_thread::sleep_for(milliseconds(10));
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
  const std::shared_ptr<camera::FrameCopies> copies_ = camera::FrameCopies::make();
  VisitPictures pictures_{history_, &clips_, {}, people_, copies_};
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

TEST_F(PeopleTest, InTheFramesOfAClipAroundThatTimeTheyAreHidden) {
  look_until(seconds(5));
  people_->seen(kSeen, kPerson);
  ClipFrames clip;
  const std::string jpeg = jpeg_of(picture_, 90).value();
  for (const seconds at : {seconds(-9), seconds(-2), seconds(3)}) {
    clip.push_back(std::make_shared<const ClipFrame>(ClipFrame{.at = kSeen + at, .wall = {}, .jpeg = jpeg}));
  }
  ClipFrames shown;
  for (const auto& frame : clip) shown.push_back(people_->hidden(frame));
  EXPECT_EQ(shown[0], clip[0]) << "nobody was there yet";
  expect_hidden(shown[1]->jpeg);
  expect_hidden(shown[2]->jpeg);
}

TEST_F(HiddenClipTest, TheFrameIsLetGoOfBeforeTheClipIsPainted) {
  record(3);
  pictures_.visit_ended(visit_);
  std::promise<std::size_t> copies;
  // Comes behind the first step.
  history_.add_pictures(history_.next_seq(), [&]() -> Result<store::Pictures> {
    const auto another = copies_->of(picture_.view(), {.sequence = 7, .captured_at = now_ + seconds(1)}, now_);
    copies.set_value(copies_->count());
    return store::Pictures{};
  });
  EXPECT_EQ(copies.get_future().get(), 1U) << "its memory is this one's";
  ASSERT_TRUE(history_.flush());
  EXPECT_EQ(kept().size(), 4U);
}

TEST_F(PeopleTest, APictureOfAClipIsLetGoOfAsSoonAsItIsPainted) {
  look_until(seconds(20));
  people_->seen(kSeen, kPerson);
  const std::string jpeg = jpeg_of(picture_, 90).value();
  ClipFrames frames;
  std::vector<std::weak_ptr<const ClipFrame>> held;
  for (int i = 0; i < 5; ++i) {
    const SteadyTime at = kSeen + seconds(i == 4 ? 15 : 0) + milliseconds(100) * i;
    frames.push_back(std::make_shared<const ClipFrame>(ClipFrame{.at = at, .wall = {}, .jpeg = jpeg}));
    held.emplace_back(frames.back());
  }
  PaintedClip clip(std::move(frames), people_);
  for (std::size_t painted = 1; painted <= 4; ++painted) {
    EXPECT_FALSE(clip.step(PaintedClip::Hurry::kNo));
    for (std::size_t i = 0; i < held.size(); ++i) EXPECT_EQ(held[i].expired(), i < painted) << i << " of " << painted;
  }
  EXPECT_TRUE(clip.step(PaintedClip::Hurry::kNo));
  EXPECT_FALSE(held[4].expired()) << "it is shown as it is";
}

}  // namespace
}  // namespace kinglet::daemon
