// SPDX-License-Identifier: Apache-2.0
// Why: whatever stands in the place of kinglet-camera, the daemon gets an Error or a frame, never a crash or a hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "camera/sources/auto_source.h"
#include "engine/base/file.h"
#include "tests/e2e/camera/support.h"

namespace kinglet::camera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string fake(const std::string& mode) {
  return std::string("exec " KINGLET_BIN_DIR "/fake-kinglet-camera ") + mode;
}

struct Attack {
  const char* mode;
  const char* message;
};

void PrintTo(const Attack& attack, std::ostream* out) { *out << attack.mode; }

std::string attack_name(const ::testing::TestParamInfo<Attack>& info) { return info.param.mode; }

class RefusedAtStart : public LibcameraTest, public ::testing::WithParamInterface<Attack> {};

TEST_P(RefusedAtStart, IsUnavailableWithTheReason) {
  const auto source = open(script(fake(GetParam().mode)));
  const auto started = source->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(describe(started.error()), HasSubstr(GetParam().message));
  const auto next = source->next(SteadyClock::now());
  ASSERT_TRUE(next);
  EXPECT_TRUE(std::holds_alternative<NoFrame>(*next));
}

INSTANTIATE_TEST_SUITE_P(
    Peer, RefusedAtStart,
    ::testing::Values(Attack{"ends", "ended with exit code 7: last words"}, Attack{"silent", "gave no camera within"},
                      Attack{"garbage", "not kinglet's protocol"}, Attack{"version", "protocol version 99, expected 3"},
                      Attack{"truncated", "expected"}, Attack{"long", "longer than any message"},
                      Attack{"endless_text", "a text without end"}, Attack{"huge", "size 1073741824x48"},
                      Attack{"no_buffers", "0 buffers"}, Attack{"small_is_larger", "small size 2000x1000"},
                      Attack{"hello_twice", "hello twice"}, Attack{"buffer_first", "sent buffer 0, expected"},
                      Attack{"buffer_order", "sent buffer 2, expected 0"}, Attack{"frame_first", "out of turn"},
                      Attack{"no_descriptor", "descriptor 0 of 0"}, Attack{"not_sealed", "sealed against shrinking"},
                      Attack{"offset", "outside a memory of"}, Attack{"offset_wraps", "outside a memory of"},
                      Attack{"length", "outside a memory of"}, Attack{"stride", "stride 2147483648"}),
    attack_name);

class RefusedAtFrame : public LibcameraTest, public ::testing::WithParamInterface<Attack> {};

TEST_P(RefusedAtFrame, IsUnavailableWithTheReason) {
  const auto source = open(script(fake(GetParam().mode)));
  ASSERT_TRUE(source->start());
  std::vector<Frame> leases;
  Result<std::variant<Frame, NoFrame>> next = NoFrame{};
  for (int i = 0; i < 3 && next; ++i) {
    next = source->next(in(kLong));
    if (next) leases.push_back(std::get<Frame>(std::move(*next)));
  }
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(describe(next.error()), HasSubstr(GetParam().message));
  EXPECT_FALSE(source->next(in(kLong))) << "the error stays until the next start";
}

INSTANTIATE_TEST_SUITE_P(Peer, RefusedAtFrame,
                         ::testing::Values(Attack{"frame_index", "buffer 31, which it does not have"},
                                           Attack{"frame_twice", "buffer 0, which it does not have"},
                                           Attack{"frame_backwards", "out of turn"},
                                           Attack{"small_frame", "buffer 5, which it does not have"},
                                           Attack{"dies_later", "ended with exit code 7"}),
                         attack_name);

using Libcamera = LibcameraTest;

TEST_F(Libcamera, MissingProgramSaysWhatToInstall) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  const auto started = open("")->start();
  ::setenv("PATH", path.c_str(), 1);
  // In a build with libcamera the program stands beside this test.
  if (started || !std::filesystem::exists(KINGLET_BIN_DIR "/kinglet-camera")) {
    ASSERT_FALSE(started);
    EXPECT_THAT(started.error().hint, HasSubstr("apt install kinglet-camera"));
  }
  const auto wrong = open("/nowhere/kinglet-camera")->start();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(describe(wrong.error()), HasSubstr("/nowhere/kinglet-camera"));
}

TEST_F(Libcamera, ProgramIsToldTheSettings) {
  const std::string words = (folder() / "words").string();
  SourceOptions wish = options(script("printf '%s ' \"$@\" >" + words + "\n" + fake("good")));
  wish.frames_per_second = 5;
  wish.camera = {
      .exposure = 8.5, .white_balance = "cloudy", .rotation = 180, .vflip = true, .crop = {0.25, 0.5, 0.5, 0.25}};
  const auto source = open_libcamera("imx708", wish).value();
  ASSERT_TRUE(source->start());
  EXPECT_EQ(
      read_file(words, 1000).value(),
      "--fd 3 --size 640x480 --camera imx708 --fps 5 --exposure 8.5 --white-balance cloudy --rotation 180 --vflip "
      "--crop 0.25 0.5 0.5 0.25 ");
}

class ChosenAgain : public LibcameraTest {
 protected:
  // What the program is told at each start of a daemon with these sources, one after the other.
  std::string words_of_starts(const std::string& mode, const std::vector<std::string>& cameras) {
    const std::string words = (folder() / "words").string();
    SourceOptions wish = options(script("echo \"$@\" >>" + words + "\n" + fake(mode)));
    wish.chosen_camera = std::make_shared<ChosenCamera>();
    for (const std::string& camera : cameras) EXPECT_TRUE(open_libcamera(camera, wish).value()->start());
    return read_file(words, 1000).value();
  }
};

TEST_F(ChosenAgain, OfSeveralCamerasTheOneThatWasChosenIsAskedFor) {
  EXPECT_EQ(words_of_starts("one_of_two", {"0", "0", "1"}),
            "--fd 3 --size 640x480 --camera 0\n"
            "--fd 3 --size 640x480 --camera fake --model Fake camera\n"
            "--fd 3 --size 640x480 --camera 1\n");
}

TEST_F(ChosenAgain, TheOnlyCameraMayBeReplacedByAnyOther) {
  EXPECT_EQ(words_of_starts("good", {"0", "0"}),
            "--fd 3 --size 640x480 --camera 0\n--fd 3 --size 640x480 --camera 0\n");
}

TEST_F(Libcamera, ProgramOfAnotherLibcameraSaysSo) {
  const auto started = open(script("echo 'error while loading shared libraries: libcamera.so.0.4: cannot open shared "
                                   "object file' >&2; exit 127"))
                           ->start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("libcamera.so.0.4"));
  EXPECT_THAT(started.error().hint, HasSubstr("another libcamera"));
}

TEST_F(Libcamera, AProgramOfAnotherVersionSaysWhatToDoAlsoWhereTheSourceIsChosen) {
  const std::string program = script(fake("version"));
  const auto started = open(program)->start();
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, HasSubstr("of different versions"));
  EXPECT_THAT(started.error().hint, AllOf(HasSubstr("of the same version"), HasSubstr("restart kingletd")));
  SourceOptions wish = options(program);
  wish.spec = "auto";
  AutoChoice choice;
  ASSERT_TRUE(choice.open(wish, StandIn::kScene)->start());
  EXPECT_THAT(log(), HasSubstr("of the same version, and restart kingletd"));
}

TEST_F(Libcamera, SmallPicturesComeWithTheFullOnes) {
  const auto source = open(script(fake("small")));
  ASSERT_TRUE(source->start());
  EXPECT_THAT(source->description(), HasSubstr("64x48 and 32x24"));
  for (int i = 0; i < 9; ++i) {
    const Frame frame = must_get(*source);
    ASSERT_EQ(frame.view().width, 64);
    ASSERT_EQ(frame.small().width, 32);
    ASSERT_EQ(frame.small().height, 24);
    EXPECT_TRUE(check_view(frame.small()));
    EXPECT_EQ(frame.view().planes[0].bytes.front(), std::byte(16 + i % 4));
    EXPECT_EQ(frame.small().planes[0].bytes.front(), std::byte(16 + i % 4 + 4));
  }
}

TEST_F(Libcamera, StaleFrameIsGivenBackForANewerOne) {
  const auto source = open(script(fake("stale")));
  ASSERT_TRUE(source->start());
  EXPECT_EQ(must_get(*source).info().sequence, 1U);
  EXPECT_EQ(source->dropped_count(), 1U);
}

TEST_F(Libcamera, LeaseOutlivesProgramAndSource) {
  auto source = open(script(fake("dies_later")));
  ASSERT_TRUE(source->start());
  const Frame frame = must_get(*source);
  EXPECT_FALSE(source->next(in(kLong)));
  source.reset();
  const auto bytes = frame.view().planes[1].bytes;
  EXPECT_EQ(bytes.front(), std::byte{34});
  EXPECT_EQ(bytes.back(), std::byte{34});
}

TEST_F(Libcamera, HungProgramIsKilledAndNotWaitedFor) {
  const auto source = open(script("trap '' TERM INT; " KINGLET_BIN_DIR "/fake-kinglet-camera hangs"));
  ASSERT_TRUE(source->start());
  const auto next = source->next(in(std::chrono::milliseconds(50)));
  ASSERT_TRUE(next);
  EXPECT_EQ(std::get<NoFrame>(*next).reason, NoFrame::Reason::kDeadline);
  source->stop();  // of a program that never ends by itself
  EXPECT_THAT(log(), HasSubstr("is killed"));
}

TEST_F(Libcamera, StopWakesAWaitingNext) {
  const auto source = open(script(fake("hangs")));
  ASSERT_TRUE(source->start());
  std::jthread stopper([&] { source->stop(); });
  const auto next = source->next(in(std::chrono::hours(1)));
  ASSERT_TRUE(next);
  EXPECT_EQ(std::get<NoFrame>(*next).reason, NoFrame::Reason::kStopped);
}

TEST_F(Libcamera, StopWakesAWaitingStart) {
  const auto source = open(script(fake("silent")));
  Result<void> started;
  {
    std::atomic<bool> done = false;
    std::jthread starter([&] {
      started = source->start();
      done.store(true);
    });
    // Wherever start() is then, a stop ends it; stop() before start() does nothing, hence again and again.
    while (!done.load()) source->stop();
  }
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
}

struct Layout {
  const char* mode;
  PixelFormat format;
  int planes;
  std::array<std::size_t, 3> strides;
};

class Formats : public LibcameraTest, public ::testing::WithParamInterface<Layout> {};

TEST_P(Formats, ViewHasPlanesAndStrides) {
  const auto source = open(script(fake(GetParam().mode)));
  ASSERT_TRUE(source->start());
  for (int round = 0; round < 10; ++round) {
    const Frame frame = must_get(*source);
    const FrameView& view = frame.view();
    ASSERT_EQ(view.format, GetParam().format);
    ASSERT_EQ(view.plane_count, GetParam().planes);
    EXPECT_EQ(view.matrix, ColorMatrix::kBt709);
    EXPECT_EQ(view.range, ColorRange::kLimited);
    for (int p = 0; p < view.plane_count; ++p) {
      const Plane& plane = view.planes[static_cast<std::size_t>(p)];
      EXPECT_EQ(plane.stride, GetParam().strides[static_cast<std::size_t>(p)]);
      EXPECT_EQ(plane.bytes.front(), static_cast<std::byte>(16 * (p + 1) + round % 4));
      EXPECT_EQ(plane.bytes.back(), static_cast<std::byte>(16 * (p + 1) + round % 4));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Peer, Formats,
                         ::testing::Values(Layout{"nv12", PixelFormat::kNv12, 2, {80, 80, 0}},
                                           Layout{"yuv420", PixelFormat::kYuv420, 3, {80, 40, 40}},
                                           Layout{"yuyv", PixelFormat::kYuyv, 1, {160, 0, 0}},
                                           Layout{"rgb888", PixelFormat::kRgb888, 1, {240, 0, 0}},
                                           Layout{"mjpeg", PixelFormat::kMjpeg, 1, {0, 0, 0}}),
                         [](const auto& one) { return std::string(one.param.mode); });

TEST_F(Libcamera, MjpegViewEndsWithThePicture) {
  const auto source = open(script(fake("mjpeg")));
  ASSERT_TRUE(source->start());
  EXPECT_EQ(must_get(*source).view().planes[0].bytes.size(), 100U);
}

}  // namespace
}  // namespace kinglet::camera::testing
