// SPDX-License-Identifier: Apache-2.0
// Why: programs that misbehave: each costs an Error that says so, or a picture, never a hang or a frame of something
// else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "camera/source/source.h"
#include "camera/sources/auto_source.h"
#include "tests/support/picture_server.h"
#include "tests/support/pillow_oracle.h"
#include "tests/unit/camera_stream/stream_sources.h"

namespace kinglet::camera {
namespace {

using namespace std::chrono_literals;
using kinglet::testing::jpeg_of;
using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

using Exec = StreamSources;

TEST_F(Exec, GivesTheFramesThatTheProgramWrites) {
  const auto source = open("exec:" KINGLET_BIN_DIR "/fake-frames y4m 64 48 3?format=y4m&once");
  ASSERT_TRUE(source->start());
  for (int i = 0; i < 3; ++i) {
    const auto got = frame(*source);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->view().planes[0].bytes[0], static_cast<std::byte>(i));
  }
  EXPECT_EQ(std::get<NoFrame>(source->next(SteadyClock::now() + 30s).value()).reason, NoFrame::Reason::kEnd);
}

// Frames that are larger than what is read at once, and one after the other in what is read at once.
TEST_F(Exec, OfFramesThatNobodyWantsOneInAWhileComesAndTheStreamIsUnderstoodBehindThem) {
  for (const std::string spec :
       {"y4m 640 480 30?format=y4m&once", "y4m 32 16 30?format=y4m&once",
        "raw 640 480 30?format=yuv420p&size=640x480&once", "mjpeg 64 48 30?format=mjpeg&once"}) {
    SCOPED_TRACE(spec);
    const auto source = open("exec:" KINGLET_BIN_DIR "/fake-frames " + spec);
    ASSERT_TRUE(source->start());
    ASSERT_TRUE(frame(*source));
    source->want_every(1h);
    EXPECT_EQ(std::get<NoFrame>(source->next(SteadyClock::now() + 30s).value()).reason, NoFrame::Reason::kEnd);
    EXPECT_EQ(source->dropped_count(), 0U);
  }
}

TEST_F(Exec, AFrameThatIsWantedAgainIsAWholeOne) {
  for (const std::string spec : {"y4m 640 480?format=y4m", "raw 640 480?format=yuv420p&size=640x480"}) {
    SCOPED_TRACE(spec);
    const auto source = open("exec:" KINGLET_BIN_DIR "/fake-frames " + spec);
    ASSERT_TRUE(source->start());
    ASSERT_TRUE(frame(*source));
    for (int i = 0; i < 20; ++i) {
      source->want_every(1h);
      const auto waited = source->next(SteadyClock::now() + 17ms).value();
      EXPECT_EQ(std::get<NoFrame>(waited).reason, NoFrame::Reason::kDeadline);
      source->want_every({});
      const auto got = frame(*source);
      ASSERT_TRUE(got);
      const auto luma = got->view().planes[0].bytes.first(std::size_t{640} * 480);
      EXPECT_TRUE(std::ranges::all_of(luma, [&](std::byte one) { return one == luma[0]; }));
      EXPECT_EQ(got->info().sequence, static_cast<std::uint64_t>(i) + 1);
    }
  }
}

TEST_F(Exec, AnEndThatWasNotAskedForIsALoss) {
  const auto source = open("exec:" KINGLET_BIN_DIR "/fake-frames y4m 64 48 3?format=y4m");
  ASSERT_TRUE(source->start());
  const Error error = end_of(*source);
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("fake-frames ended with exit code 0"));
  ASSERT_TRUE(source->start());
  EXPECT_TRUE(frame(*source));
}

TEST_F(Exec, SaysWhyTheProgramEnded) {
  const auto source =
      open("exec:" + script("cat " + folder_.path().string() + "/one; echo the camera broke >&2; exit 3"));
  ASSERT_TRUE(write_file(folder_.path() / "one", jpeg_of(64, 48), Overwrite::kReplace));
  ASSERT_TRUE(source->start());
  EXPECT_THAT(end_of(*source).message, HasSubstr("ended with exit code 3: the camera broke"));
}

TEST_F(Exec, WordsGoToTheProgramAsTheyAreWithoutAShell) {
  const auto out = folder_.path() / "words";
  const std::string program = script("printf '%s\\n' \"$@\" > " + out.string() + "; exit 1");
  const auto source = open("exec:" + program + R"( one 'two  $HOME' "three \"3\" 'x'" fo\ ur ;rm "" http://x/y)");
  EXPECT_FALSE(source->start());
  EXPECT_EQ(read_file(out, 1000).value(), "one\ntwo  $HOME\nthree \"3\" 'x'\nfo ur\n;rm\n\nhttp://x/y\n");
}

TEST_F(Exec, AHangingProgramIsKilledWithAllThatItStarted) {
  ASSERT_TRUE(write_file(folder_.path() / "one", jpeg_of(64, 48), Overwrite::kReplace));
  const std::string one = (folder_.path() / "one").string();
  const auto source = open("exec:" + script("trap '' TERM INT\ncat " + one +
                                            "\n(trap '' TERM; sleep 1000) &\necho $! > " + one + ".pid\nwait"));
  ASSERT_TRUE(source->start());
  ASSERT_TRUE(frame(*source));
  EXPECT_EQ(std::get<NoFrame>(source->next(SteadyClock::now() + 50ms).value()).reason, NoFrame::Reason::kDeadline);
  source->stop();  // would wait for 1000 s
  EXPECT_THAT(log(), HasSubstr("is killed"));
  const int pid = std::stoi(read_file(one + ".pid", 100).value());
  const auto alive = [pid] {  // a killed process may wait for its reaping
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/status", 10'000);
    return stat && !stat->contains("State:\tZ");
  };
  for (int i = 0; i < 1000 && alive(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_FALSE(alive());
}

TEST_F(Exec, StopWakesAStartThatWaitsForTheFirstFrame) {
  const auto source = open("exec:sleep 1000");
  Result<void> started;
  {
    std::atomic<bool> done = false;
    std::jthread starter([&] {
      started = source->start();
      done = true;
    });
    while (!done) source->stop();
  }
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
}

TEST_F(Exec, FollowsAStreamThatChangesItsSize) {
  const std::string fake = KINGLET_BIN_DIR "/fake-frames y4m ";
  const auto source = open("exec:" + script(fake + "64 48 2; " + fake + "32 16 2; exec sleep 1000") + "?format=y4m");
  ASSERT_TRUE(source->start());
  std::vector<int> widths;
  for (int i = 0; i < 4; ++i) widths.push_back(frame(*source).value().view().width);
  EXPECT_THAT(widths, ElementsAreArray({64, 64, 32, 32}));
}

TEST_F(Exec, AnUnusablePictureCostsOneFrame) {
  ASSERT_TRUE(write_file(folder_.path() / "one", jpeg_of(64, 48), Overwrite::kReplace));
  const std::string one = (folder_.path() / "one").string();
  const auto source =
      open("exec:" + script("cat " + one + "; printf '\\377\\330\\377\\331'; cat " + one + "; sleep 1000"));
  ASSERT_TRUE(source->start());
  ASSERT_TRUE(frame(*source));
  const auto second = frame(*source);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->info().sequence, 2U);
  EXPECT_EQ(bad_, 1);
  EXPECT_EQ(source->dropped_count(), 1U);
}

class Rpicam : public StreamSources {
 protected:
  // A program in the place of rpicam-vid that keeps its words and writes frames of `size`.
  std::string fake(const std::string& size, const std::string& says = "") {
    return script("printf '%s\\n' \"$@\" > " + words().string() + "\necho '" + says +
                  "' >&2\nexec " KINGLET_BIN_DIR "/fake-frames yuv420 " + size);
  }
  [[nodiscard]] std::filesystem::path words() const { return folder_.path() / "words"; }
};

TEST_F(Rpicam, AsksForRawFramesOfTheWishedSizeAndRate) {
  options_.width = 640;
  options_.height = 480;
  options_.frames_per_second = 15;
  options_.rpicam_program = fake("640 480");
  options_.rpicam_arguments = {"--awb", "daylight"};
  const auto source = open("rpicam:1");
  ASSERT_TRUE(source->start());
  const Frame got = frame(*source).value();
  EXPECT_EQ(got.view().format, PixelFormat::kYuv420);
  EXPECT_EQ(got.view().width, 640);
  EXPECT_EQ(got.view().matrix, ColorMatrix::kBt601);
  EXPECT_EQ(got.view().range, ColorRange::kFull);
  EXPECT_EQ(read_file(words(), 1000).value(),
            "-t\n0\n-n\n--codec\nyuv420\n--width\n640\n--height\n480\n--flush\n-o\n-\n--framerate\n15\n--camera\n1\n"
            "--awb\ndaylight\n");
  EXPECT_TRUE(source->settles());
}

TEST_F(Rpicam, IsToldTheCamerasSettings) {
  options_.width = 640;
  options_.height = 480;
  options_.rpicam_program = fake("640 480");
  options_.camera = {.exposure = 8.5,
                     .gain = 2,
                     .exposure_value = -0.5,
                     .white_balance = "cloudy",
                     .focus = "manual",
                     .lens_position = 2,
                     .rotation = 180,
                     .hflip = true,
                     .vflip = true,
                     .crop = {0.25, 0.5, 0.5, 0.25}};
  const auto source = open("rpicam:");
  ASSERT_TRUE(source->start());
  EXPECT_THAT(
      read_file(words(), 1000).value(),
      ::testing::EndsWith("-o\n-\n--shutter\n8500\n--gain\n2\n--ev\n-0.5\n--awb\ncloudy\n--autofocus-mode\nmanual\n"
                          "--lens-position\n2\n--rotation\n180\n--hflip\n--vflip\n--roi\n0.25,0.5,0.5,0.25\n"));
}

TEST_F(Rpicam, AsksForRowsThatNoBoardPads) {
  options_.width = 800;
  options_.height = 601;
  options_.rpicam_program = fake("768 600");
  const auto source = open("rpicam:");
  ASSERT_TRUE(source->start());
  EXPECT_EQ(frame(*source).value().view().width, 768);
  EXPECT_THAT(source->description(), HasSubstr("768x600"));
}

TEST_F(Rpicam, ACameraThatGivesAnotherSizeIsNotMisread) {
  options_.width = 640;
  options_.height = 480;
  options_.rpicam_program =
      fake("1296 972", "[1:02:03] [9] INFO Camera camera.cpp:1 configuring streams: (0) 1296x972-YUV420");
  const auto started = open("rpicam:")->start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("asked for 640x480 and gives 1296x972"));
  options_.rpicam_program =
      fake("640 480", "[1:02:03] [9] INFO Camera camera.cpp:1 configuring streams: (0) 640x480-YUV420");
  EXPECT_TRUE(open("rpicam:")->start());
}

TEST_F(Rpicam, SaysWhatTheCameraProgramSaid) {
  options_.rpicam_program = script("echo 'ERROR: *** no cameras available ***' >&2; exit 255");
  const auto started = open("rpicam:")->start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("exit code 255: ERROR: *** no cameras available ***"));
}

TEST_F(Rpicam, RefusesArgumentsThatAreItsOwn) {
  for (const char* argument : {"--width", "--output=x", "-o", "--codec"}) {
    options_.rpicam_arguments = {argument, "7"};
    options_.spec = "rpicam:";
    EXPECT_EQ(open_source(options_).error().code, ErrorCode::kUsage) << argument;
  }
  options_.rpicam_arguments.clear();
  options_.spec = "rpicam:front";
  EXPECT_EQ(open_source(options_).error().code, ErrorCode::kUsage);
}

class Auto : public Rpicam {
 protected:
  void SetUp() override { options_.camera_program = "/nowhere/kinglet-camera"; }
  AutoChoice choice_;
};

TEST_F(Auto, TakesTheSceneAndSaysWhatWasMissing) {
  options_.rpicam_program = "/nowhere/rpicam-vid";
  open("demo:");  // sets the log
  const auto source = choice_.open(options_, StandIn::kScene);
  ASSERT_TRUE(source->start());
  EXPECT_TRUE(choice_.is_demonstration());
  EXPECT_THAT(source->description(),
              AllOf(HasSubstr("demonstration"), HasSubstr("libcamera: "), HasSubstr("rpicam: ")));
  EXPECT_THAT(log(), AllOf(HasSubstr("no camera: showing the demonstration scene"), HasSubstr("rpicam-vid")));
  EXPECT_TRUE(frame(*source));
}

TEST_F(Auto, PrefersACameraAndNeverTakesTheSceneAfterIt) {
  options_.rpicam_program = fake("1280 720");
  {
    const auto source = choice_.open(options_, StandIn::kScene);
    ASSERT_TRUE(source->start());
    EXPECT_THAT(source->description(), AllOf(HasSubstr("rpicam-vid"), HasSubstr("auto: libcamera: ")));
    EXPECT_TRUE(source->settles());
  }
  options_.rpicam_program = script("exit 1");
  const auto source = choice_.open(options_, StandIn::kScene);
  EXPECT_FALSE(source->start());
  EXPECT_FALSE(choice_.is_demonstration());
}

TEST_F(Auto, AStopReachesTheCameraThatIsBeingTriedAndNoOtherIsTakenAfterIt) {
  const auto begun = folder_.path() / "begun";
  options_.rpicam_program = script("touch " + begun.string() + "; exec sleep 60");
  const auto source = choice_.open(options_, StandIn::kScene);
  const SteadyTime start = SteadyClock::now();
  const std::jthread stops([&] {
    while (!std::filesystem::exists(begun) && SteadyClock::now() < start + 30s) std::this_thread::sleep_for(2ms);
    source->stop();
  });
  const auto started = source->start();
  ASSERT_FALSE(started);
  EXPECT_THAT(describe(started.error()), ::testing::Not(HasSubstr("gave no frame within")));
  EXPECT_FALSE(choice_.is_demonstration());
}

TEST_F(Auto, WithoutACameraNothingStandsInUnlessItMay) {
  options_.rpicam_program = "/nowhere/rpicam-vid";
  const auto scene = choice_.open(options_, StandIn::kScene);
  ASSERT_TRUE(scene->start());
  ASSERT_TRUE(choice_.is_demonstration());
  const auto source = choice_.open(options_, StandIn::kNothing);
  const auto started = source->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(started.error().message, AllOf(HasSubstr("no camera: libcamera: "), HasSubstr("rpicam: ")));
  EXPECT_THAT(started.error().hint, HasSubstr("apt install rpicam-apps-lite"));
  EXPECT_FALSE(choice_.is_demonstration());
}

TEST_F(Auto, TheSceneThatWasForgottenIsChosenAnewOnlyWhereItMay) {
  options_.rpicam_program = "/nowhere/rpicam-vid";
  ASSERT_TRUE(choice_.open(options_, StandIn::kScene)->start());
  EXPECT_TRUE(choice_.forget_scene());
  EXPECT_FALSE(choice_.forget_scene());
  EXPECT_FALSE(choice_.is_demonstration());
  EXPECT_TRUE(choice_.open(options_, StandIn::kScene)->start());
  EXPECT_TRUE(choice_.is_demonstration());
}

}  // namespace
}  // namespace kinglet::camera
