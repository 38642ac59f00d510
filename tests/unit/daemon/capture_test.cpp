// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"
#include "tests/unit/daemon/scripted_source.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;
using Next = SourceScript::Next;

// Of whom is asked later than this it is no picture of now (snapshot.cpp).
constexpr milliseconds kNotFresh{250};

class CaptureTest : public ::testing::Test {
 protected:
  static inline const CaptureOptions kFast{.stall_after = milliseconds(20),
                                           .restart_after = milliseconds(60),
                                           .first_backoff = milliseconds(5),
                                           .last_backoff = milliseconds(20),
                                           .settle = milliseconds(100),
                                           .still_waits = std::chrono::hours(1)};

  // A busy machine may keep the source waiting for longer than that: here nothing is a stall.
  static CaptureOptions patient() {
    CaptureOptions options = kFast;
    options.stall_after = options.restart_after = std::chrono::hours(1);
    return options;
  }
  // Paused, of a source that works for nobody and is soon stopped.
  CaptureOptions resting() {
    script_.works_unwanted = true;
    CaptureOptions options = patient();
    options.paused = [] { return true; };
    options.rest_after = milliseconds(1);
    return options;
  }
  [[nodiscard]] Capture capture_with(const CaptureOptions& options) {
    return Capture(
        [this]() -> Result<std::unique_ptr<camera::FrameSource>> { return std::make_unique<ScriptedSource>(script_); },
        options, mailbox_, snapshots_, stats_, {});
  }

  // Until the picture before is no picture of now, too.
  void start_and_rest(Capture& capture) {
    capture.start();
    ASSERT_TRUE(comes_true([&] { return capture.status(SteadyClock::now()).state == CameraState::kPaused; }));
    std::this_thread::sleep_for(kNotFresh);
  }

  [[nodiscard]] CameraStatus status() const { return capture_.status(SteadyClock::now()); }
  // Generous: only a failing test takes that long.
  template <typename Condition>
  [[nodiscard]] bool comes_true(Condition condition) const {
    const SteadyTime deadline = SteadyClock::now() + std::chrono::seconds(30);
    while (SteadyClock::now() < deadline) {
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return false;
  }
  [[nodiscard]] bool reaches(CameraState state) const {
    return comes_true([&] { return status().state == state; });
  }

  [[nodiscard]] std::uint64_t paused_frames() const {
    return stats_.view(SteadyClock::now()).skipped[std::to_underlying(SkipReason::kPaused)];
  }

  SourceScript script_;
  camera::Mailbox mailbox_;
  SnapshotBoard snapshots_;
  Stats stats_{SteadyClock::now()};
  Capture capture_{
      [this]() -> Result<std::unique_ptr<camera::FrameSource>> { return std::make_unique<ScriptedSource>(script_); },
      kFast,
      mailbox_,
      snapshots_,
      stats_,
      {}};
};

TEST_F(CaptureTest, PutsFramesIntoTheMailbox) {
  capture_.start();
  EXPECT_TRUE(mailbox_.take(SteadyClock::now() + std::chrono::seconds(30)));
  EXPECT_TRUE(reaches(CameraState::kStreaming));
  EXPECT_EQ(status().description, "a scripted source");
}

TEST_F(CaptureTest, PicturesThatSomebodyChoseWaitForEachOther) {
  script_.stills = true;
  capture_.start();
  for (std::uint64_t i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(milliseconds(10));  // frames come every two
    const auto taken = mailbox_.take(SteadyClock::now() + std::chrono::seconds(30));
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->info().sequence, i);
  }
  EXPECT_EQ(mailbox_.dropped_count(), 0U);
  // One is taken by nobody, and another waits for it.
  EXPECT_TRUE(comes_true([&] { return script_.leases_out == 2; }));
  capture_.stop();  // would not return within the hour
  EXPECT_EQ(script_.leases_out, 1);
}

TEST_F(CaptureTest, ToWaitForRoomIsNoSilenceOfTheCamera) {
  script_.stills = true;
  capture_.start();
  ASSERT_TRUE(comes_true([&] { return script_.leases_out == 2; })) << "one is taken by nobody, another waits";
  script_.next = Next::kSilence;
  const SteadyTime taken_at = SteadyClock::now();
  ASSERT_TRUE(mailbox_.take_now());
  EXPECT_TRUE(comes_true([&] { return mailbox_.has_frame() && status().last_frame_at >= taken_at; }));
}

TEST_F(CaptureTest, AStartThatHangsIsCalledOffWhenItEnds) {
  script_.start_hangs = true;
  capture_.start();
  ASSERT_TRUE(comes_true([&] { return script_.starts == 1; }));
  capture_.stop();  // would never return
  EXPECT_EQ(script_.starts, 1);
}

TEST_F(CaptureTest, OpensTheSourceAnewWhenItsSettingsChanged) {
  Capture capture = capture_with(patient());
  const auto now = [&] { return capture.status(SteadyClock::now()); };
  capture.start();
  ASSERT_TRUE(comes_true([&] { return now().state == CameraState::kStreaming; }));
  capture.reopen(milliseconds(0));
  EXPECT_TRUE(comes_true([&] { return script_.starts == 2 && now().state == CameraState::kStreaming; }));
  EXPECT_EQ(now().restarts_after_stall + now().restarts_after_loss, 0U) << "wished for, no fault";
}

TEST_F(CaptureTest, OpensASourceAnewThatHadEnded) {
  script_.next = Next::kEnd;
  capture_.start();
  ASSERT_TRUE(reaches(CameraState::kAbsent));
  script_.next = Next::kFrames;
  capture_.reopen(milliseconds(0));
  EXPECT_TRUE(reaches(CameraState::kStreaming));
}

TEST_F(CaptureTest, ADeviceThatComesEndsTheWaitingForTheNextStart) {
  const kinglet::testing::ScratchFolder devices;
  CaptureOptions options = kFast;
  options.first_backoff = options.last_backoff = std::chrono::hours(1);
  options.devices = devices.path().native();
  Capture capture = capture_with(options);
  script_.start_fails = true;
  capture.start();
  ASSERT_TRUE(comes_true([&] { return script_.starts == 1; }));
  script_.start_fails = false;
  std::ofstream(devices.path() / "video0");
  EXPECT_TRUE(comes_true([&] { return capture.status(SteadyClock::now()).state == CameraState::kStreaming; }));
}

TEST_F(CaptureTest, FramesThatNobodyCanReadAreAStall) {
  capture_.start();
  ASSERT_TRUE(reaches(CameraState::kStreaming));
  for (int i = 0; i < 3; ++i) mailbox_.note_unreadable("the picture is cut off", SteadyClock::now());
  EXPECT_TRUE(comes_true([&] {
    const std::string detail = status().detail;
    return detail.contains("can be read for ") && detail.contains(" s: the picture is cut off");
  }));
  EXPECT_TRUE(comes_true([&] { return status().restarts_after_stall >= 2; }));
  EXPECT_NE(status().state, CameraState::kStreaming) << "not before one was read";
  mailbox_.note_readable();
  EXPECT_TRUE(reaches(CameraState::kStreaming));
}

TEST_F(CaptureTest, AFrameNowAndThenThatCannotBeReadIsNone) {
  Capture capture = capture_with(patient());
  const auto now = [&] { return capture.status(SteadyClock::now()); };
  const auto note = [&] { mailbox_.note_unreadable("the picture is cut off", SteadyClock::now()); };
  note();
  note();
  capture.start();
  EXPECT_TRUE(comes_true([&] { return now().state == CameraState::kStreaming; })) << "two are few";
  note();
  script_.next = Next::kLost;
  ASSERT_TRUE(comes_true([&] { return now().restarts_after_loss >= 1; }));
  script_.next = Next::kFrames;
  const SteadyTime lost_at = SteadyClock::now();
  ASSERT_TRUE(comes_true([&] { return now().last_frame_at > lost_at + milliseconds(50); }));
  EXPECT_NE(now().state, CameraState::kStreaming) << "three are not";
  EXPECT_EQ(now().stalls, 0U);
}

TEST_F(CaptureTest, SeesAStallStartsAgainAndCountsBoth) {
  capture_.start();
  ASSERT_TRUE(reaches(CameraState::kStreaming));
  script_.next = Next::kSilence;
  ASSERT_TRUE(comes_true([&] { return status().stalls >= 1 && status().restarts_after_stall >= 1; }));
  EXPECT_NE(status().state, CameraState::kStreaming);
  EXPECT_FALSE(status().detail.empty());
  script_.next = Next::kFrames;
  EXPECT_TRUE(comes_true([&] { return status().state == CameraState::kStreaming && status().detail.empty(); }));
}

TEST_F(CaptureTest, StartsALostDeviceAgain) {
  capture_.start();
  ASSERT_TRUE(reaches(CameraState::kStreaming));
  script_.next = Next::kLost;
  ASSERT_TRUE(comes_true([&] { return status().restarts_after_loss >= 2; }));
  script_.next = Next::kFrames;
  EXPECT_TRUE(reaches(CameraState::kStreaming));
}

TEST_F(CaptureTest, SaysWhyAnAbsentCameraIsAbsentAndKeepsTrying) {
  script_.start_fails = true;
  capture_.start();
  ASSERT_TRUE(reaches(CameraState::kAbsent));
  EXPECT_EQ(status().detail, "test: the camera is unplugged; plug it in");
  ASSERT_TRUE(comes_true([&] { return script_.starts >= 3; }));
  script_.start_fails = false;
  EXPECT_TRUE(reaches(CameraState::kStreaming));
}

TEST_F(CaptureTest, CallsACameraThatWorkedOnceFailed) {
  capture_.start();
  ASSERT_TRUE(reaches(CameraState::kStreaming));
  script_.start_fails = true;
  script_.next = Next::kLost;
  EXPECT_TRUE(reaches(CameraState::kFailed));
}

TEST_F(CaptureTest, StartsThatNoFrameFollowsLetTheWatchdogStarve) {
  script_.next = Next::kSilence;
  capture_.start();
  ASSERT_TRUE(comes_true([&] { return status().restarts_after_stall >= 2; }));
  for (int i = 0; i < 50; ++i) {
    EXPECT_LT(status().sign_by, SteadyClock::now());
    std::this_thread::sleep_for(milliseconds(2));
  }
  script_.next = Next::kFrames;
  EXPECT_TRUE(comes_true([&] { return status().sign_by > SteadyClock::now(); }));
}

TEST_F(CaptureTest, ACameraThatIsKnownToBeAbsentDoesNotLetItStarve) {
  script_.start_fails = true;
  capture_.start();
  ASSERT_TRUE(comes_true([&] { return script_.starts >= 2; }));
  EXPECT_EQ(status().sign_by, SteadyTime::max());
}

TEST_F(CaptureTest, CountsBrokenFramesAndCallsNothingElseAStall) {
  capture_.start();
  ASSERT_TRUE(reaches(CameraState::kStreaming));
  script_.next = Next::kBroken;
  ASSERT_TRUE(comes_true([&] { return stats_.view(SteadyClock::now()).errors >= 2; }));
  EXPECT_TRUE(comes_true([&] { return status().stalls >= 1; }));
}

TEST_F(CaptureTest, TellsWhenTheSourceHasEnded) {
  script_.next = Next::kEnd;
  capture_.start();
  ASSERT_TRUE(reaches(CameraState::kAbsent));
  EXPECT_EQ(status().detail, "the source has ended");
}

TEST_F(CaptureTest, ShowsButDoesNotJudgeFramesOfACameraThatSettles) {
  script_.settles = true;
  CaptureOptions options = patient();
  options.settle = std::chrono::seconds(1);  // in which a busy machine shows a frame as well
  Capture capture = capture_with(options);
  capture.start();
  ASSERT_TRUE(mailbox_.take(SteadyClock::now() + std::chrono::seconds(30)));
  const auto settling = [&] {
    return stats_.view(SteadyClock::now()).skipped[std::to_underlying(SkipReason::kSettling)];
  };
  EXPECT_GT(settling(), 0U);
  EXPECT_TRUE(snapshots_.get(0));
  // After each start anew.
  const std::uint64_t before = settling();
  script_.next = Next::kLost;
  ASSERT_TRUE(comes_true([&] { return capture.status(SteadyClock::now()).restarts_after_loss >= 1; }));
  script_.next = Next::kFrames;
  EXPECT_TRUE(comes_true([&] { return settling() > before; }));
}

TEST_F(CaptureTest, JudgesEveryFrameOfASourceWithoutExposure) {
  capture_.start();
  ASSERT_TRUE(mailbox_.take(SteadyClock::now() + std::chrono::seconds(30)));
  EXPECT_EQ(stats_.view(SteadyClock::now()).skipped[std::to_underlying(SkipReason::kSettling)], 0U);
}

TEST_F(CaptureTest, WaitsForASourceThatIsSlowByItsNature) {
  script_.pause_ms = 60'000;
  capture_.start();
  ASSERT_TRUE(reaches(CameraState::kStreaming));
  script_.next = Next::kSilence;
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_EQ(status().state, CameraState::kStreaming);
  EXPECT_EQ(status().stalls, 0U);
}

TEST_F(CaptureTest, BreathesBetweenStartsOfASourceThatWorksForAMomentOnly) {
  script_.next = Next::kLost;
  capture_.start();
  ASSERT_TRUE(comes_true([&] { return script_.starts >= 5; }));
  // 5, 10, 20, 20 ms between five starts; without them there would be thousands in that time.
  const SteadyTime begin = SteadyClock::now();
  const int starts = script_.starts;
  std::this_thread::sleep_for(milliseconds(100));
  const int more = script_.starts - starts;
  EXPECT_LE(more, 1 + (SteadyClock::now() - begin) / kFast.last_backoff);
}

TEST_F(CaptureTest, GivesAllLeasesBackAtTheEnd) {
  capture_.start();
  ASSERT_TRUE(reaches(CameraState::kStreaming));
  capture_.stop();
  mailbox_.close();
  EXPECT_EQ(script_.leases_out, 0);
}

TEST_F(CaptureTest, PausedItWantsLittleKeepsNothingForClipsAndIsNoStall) {
  std::atomic<bool> paused{false};
  ClipRecorder clips({}, {});
  clips.moved(SteadyClock::now() + std::chrono::hours(1));
  CaptureOptions options;
  options.clips = &clips;
  options.paused = [&] { return paused.load(); };
  Capture capture(
      [this]() -> Result<std::unique_ptr<camera::FrameSource>> { return std::make_unique<ScriptedSource>(script_); },
      options, mailbox_, snapshots_, stats_, {});
  capture.start();
  ASSERT_TRUE(comes_true([&] { return clips.status().frames > 3 && clips.status().bytes > 0; }));
  EXPECT_EQ(script_.wanted_every_ms, 0);

  paused = true;
  ASSERT_TRUE(comes_true([&] { return paused_frames() > 0 && clips.status().bytes == 0; }));
  const std::uint64_t before = clips.status().frames;
  ASSERT_TRUE(comes_true([&] { return paused_frames() > 200; })) << "this source makes as many as before";
  EXPECT_LE(clips.status().frames, before + 1) << "one was being made small";
  EXPECT_EQ(clips.status().bytes, 0U);
  EXPECT_EQ(script_.wanted_every_ms, 1000);
  EXPECT_EQ(capture.status(SteadyClock::now()).state, CameraState::kStreaming);

  EXPECT_TRUE(snapshots_.get(0));
  EXPECT_TRUE(comes_true([&] { return script_.wanted_every_ms == 0; })) << "somebody watches";
  EXPECT_TRUE(comes_true([&] { return script_.wanted_every_ms == 1000; })) << "and has gone";

  paused = false;
  EXPECT_TRUE(comes_true([&] { return script_.wanted_every_ms == 0 && clips.status().frames > before + 3; }));
  EXPECT_EQ(capture.status(SteadyClock::now()).stalls, 0U);
}

TEST_F(CaptureTest, ASourceThatWorksForNobodyIsStoppedUntilSomebodyWantsItsPictures) {
  std::atomic<bool> paused{false};
  script_.works_unwanted = true;
  CaptureOptions options = patient();
  options.paused = [&] { return paused.load(); };
  options.rest_after = milliseconds(20);
  Capture capture = capture_with(options);
  const auto is = [&](CameraState state) {
    return comes_true([&] { return capture.status(SteadyClock::now()).state == state; });
  };
  capture.start();
  ASSERT_TRUE(is(CameraState::kStreaming));

  paused = true;
  ASSERT_TRUE(is(CameraState::kPaused));
  EXPECT_EQ(script_.stops, 1);
  const CameraStatus status = capture.status(SteadyClock::now());
  EXPECT_EQ(status.detail, "stopped until somebody wants its pictures");
  EXPECT_EQ(status.sign_by, SteadyTime::max()) << "nothing is missed";
  EXPECT_EQ(status.restarts_after_stall + status.restarts_after_loss, 0U);

  std::this_thread::sleep_for(kNotFresh);
  const SteadyTime asked = SteadyClock::now();
  const auto picture = snapshots_.get(0);
  ASSERT_TRUE(picture) << describe(picture.error());
  EXPECT_GE((*picture)->info.captured_at, asked) << "it was started for who asked";
  EXPECT_EQ(script_.starts, 2);
  ASSERT_TRUE(comes_true([&] { return script_.stops == 2; })) << "and who asked has gone";

  paused = false;
  EXPECT_TRUE(is(CameraState::kStreaming));
  EXPECT_EQ(script_.starts, 3);
}

TEST_F(CaptureTest, AShortPauseStopsNothing) {
  script_.works_unwanted = true;
  CaptureOptions options = patient();
  options.paused = [] { return true; };
  Capture capture = capture_with(options);
  capture.start();
  ASSERT_TRUE(comes_true([&] { return paused_frames() > 100; }));
  EXPECT_EQ(script_.starts, 1);
  EXPECT_EQ(script_.stops, 0);
}

TEST_F(CaptureTest, ACameraThatDoesNotStartAgainKeepsNobodyWaitingWhoAsksForAPicture) {
  Capture capture = capture_with(resting());
  ASSERT_NO_FATAL_FAILURE(start_and_rest(capture));
  script_.start_fails = true;
  const SteadyTime asked = SteadyClock::now();
  (void)snapshots_.get(0);  // the picture before, while it is not too old
  EXPECT_LT(SteadyClock::now() - asked, std::chrono::seconds(9)) << "as long as a start may take";
  EXPECT_TRUE(comes_true([&] { return capture.status(SteadyClock::now()).state == CameraState::kFailed; }));
}

TEST_F(CaptureTest, WhoWaitsForAPictureOfACameraThatRestsIsLetGoAtTheEnd) {
  Capture capture = capture_with(resting());
  ASSERT_NO_FATAL_FAILURE(start_and_rest(capture));
  script_.start_hangs = true;
  const SteadyTime asked = SteadyClock::now();
  const std::jthread watcher([this] { (void)snapshots_.get(0); });
  ASSERT_TRUE(comes_true([&] { return script_.starts == 2; }));
  capture.stop();
  (void)snapshots_.get(0);  // after the watcher, whom it would wait for
  EXPECT_LT(SteadyClock::now() - asked, std::chrono::seconds(9)) << "as long as a start may take";
}

TEST_F(CaptureTest, ReportsAHangingSourceAsStalled) {
  capture_.start();
  ASSERT_TRUE(reaches(CameraState::kStreaming));
  EXPECT_EQ(capture_.status(SteadyClock::now() + std::chrono::seconds(5)).state, CameraState::kStalled);
}

}  // namespace
}  // namespace kinglet::daemon
