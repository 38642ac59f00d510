// SPDX-License-Identifier: Apache-2.0
// Why: the whole road of a libcamera frame for real: kinglet-camera, libcamera, buffers, protocol, lease; only the
// camera itself is libcamera's virtual one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <format>
#include <set>
#include <thread>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"
#include "camera/preprocess/preprocess.h"
#include "engine/base/file.h"
#include "tests/e2e/camera/support.h"

namespace kinglet::camera::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

const std::filesystem::path kProgram = KINGLET_BIN_DIR "/kinglet-camera";

class VirtualCamera : public LibcameraTest {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kProgram)) GTEST_SKIP() << "kinglet-camera is not built (no libcamera)";
    if (std::system("command -v gcc >/dev/null 2>&1") != 0) GTEST_SKIP() << "no gcc for cross/virtual-camera";
  }

  // kinglet-camera under cross/virtual-camera, on no other camera of this machine.
  std::string program(const std::string& switches = "--fps 60") {
    const std::string source = KINGLET_SOURCE_DIR;
    return script("export LIBCAMERA_PIPELINES_MATCH_LIST=virtual TSAN_OPTIONS=atexit_sleep_ms=0:suppressions=" +
                  source + "/tests/dev/tsan-suppressions.txt\necho $$ >" + (folder() / "pid").string() + "\nexec " +
                  source + "/cross/virtual-camera " + switches + " " + kProgram.string() + " \"$@\"");
  }

  // Its libcamera sees the wish to stop before it is woken for it, and is the last to let go of its cameras.
  std::string program_that_stops_unasked() { return program("--late-wakes"); }

  [[nodiscard]] pid_t running_program() const { return std::stoi(read_file(folder() / "pid", 100).value()); }

  // A JPEG whose colours and slope tell it from the others.
  Image paint(const std::string& name, int red, int green, int blue) {
    Image image{.width = 320, .height = 240, .rgb = std::vector<std::byte>(320 * 240 * 3)};
    for (int y = 0; y < 240; ++y) {
      for (int x = 0; x < 320; ++x) {
        const std::array<int, 3> pixel{red * x / 319, green * y / 239, blue};
        for (std::size_t c = 0; c < 3; ++c) {
          image.rgb[static_cast<std::size_t>(y * 320 + x) * 3 + c] = static_cast<std::byte>(pixel[c]);
        }
      }
    }
    const auto jpeg = encode_jpeg(image.view(), 95).value();
    std::filesystem::create_directories(folder() / "frames");
    const std::string_view bytes(reinterpret_cast<const char*>(jpeg.data()), jpeg.size());
    EXPECT_TRUE(write_file(folder() / "frames" / name, bytes, Overwrite::kRefuse));
    return decode_image(jpeg, {}, Upright::kAsStored).value().image;
  }
};

double difference(const Image& a, const Image& b) {
  if (a.rgb.size() != b.rgb.size()) return 255;
  double sum = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) {
    sum += std::abs(std::to_integer<int>(a.rgb[i]) - std::to_integer<int>(b.rgb[i]));
  }
  return sum / static_cast<double>(a.rgb.size());
}

TEST_F(VirtualCamera, GivesThePicturesThatTheCameraSees) {
  const std::array<Image, 3> pictures{paint("1.jpg", 255, 60, 30), paint("2.jpg", 40, 255, 200),
                                      paint("3.jpg", 255, 255, 90)};
  const auto source = open(program("--fps 30 --size 320x240 --frames " + (folder() / "frames").string()));
  ASSERT_TRUE(source->start());
  EXPECT_THAT(source->description(), HasSubstr("Virtual feeder via libcamera"));
  std::set<std::size_t> seen;
  const SteadyTime limit = in(kLong);
  while (seen.size() < pictures.size() && SteadyClock::now() < limit) {
    const Frame frame = must_get(*source);
    ASSERT_EQ(frame.view().width, 320);
    ASSERT_EQ(frame.view().height, 240);
    const Image shown = to_rgb(frame.view()).value();
    const auto same = std::ranges::find_if(pictures, [&](const Image& one) { return difference(shown, one) < 3; });
    ASSERT_NE(same, pictures.end()) << "a picture that nobody put there";
    seen.insert(static_cast<std::size_t>(same - pictures.begin()));
  }
  EXPECT_EQ(seen.size(), pictures.size());
}

TEST_F(VirtualCamera, SmallPicturesShowTheSameAsTheFullOnes) {
  paint("1.jpg", 255, 60, 30);
  paint("2.jpg", 40, 255, 200);
  std::ofstream(folder() / "two.yaml") << "%YAML 1.1\n---\n\"feeder\":\n  supported_formats:\n"
                                          "  - { width: 320, height: 240, frame_rates: [30] }\n"
                                          "  - { width: 640, height: 480, frame_rates: [30] }\n"
                                          "  frames: { path: \""
                                       << (folder() / "frames").string() << "/\" }\n";
  SourceOptions wish = options(program("--fps 30 --yaml " + (folder() / "two.yaml").string()));
  wish.small_width = 320;
  const auto source = open_libcamera("", wish).value();
  ASSERT_TRUE(source->start());
  EXPECT_THAT(source->description(), HasSubstr("640x480 and 320x240"));
  for (int i = 0; i < 12; ++i) {
    const Frame frame = must_get(*source);
    ASSERT_EQ(frame.view().width, 640);
    ASSERT_EQ(frame.small().width, 320);
    const Image full = to_rgb(frame.view()).value();
    const Image small = to_rgb(frame.small()).value();
    const Image shrunk =
        resize_like_pillow(full.view(), {0, 0, 640, 480}, 320, 240, engine::Interpolation::kBilinear).value();
    EXPECT_LT(difference(small, shrunk), 3) << "frame " << i;
  }
}

TEST_F(VirtualCamera, ACameraWithoutASecondStreamGivesOne) {
  SourceOptions wish = options(program());
  wish.small_width = 320;  // not in the list of sizes, so the camera makes it the largest
  const auto source = open_libcamera("lines", wish).value();
  ASSERT_TRUE(source->start());
  const Frame frame = must_get(*source);
  EXPECT_EQ(frame.small().width, frame.view().width);
  EXPECT_THAT(log(), HasSubstr("no second, smaller stream"));
}

TEST_F(VirtualCamera, SequenceGrowsAndJumpsAreCounted) {
  const auto source = open(program());
  ASSERT_TRUE(source->start());
  std::uint64_t last = 0;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    const Frame frame = must_get(*source);
    EXPECT_TRUE(i == 1 || frame.info().sequence > last);
    last = frame.info().sequence;
    EXPECT_EQ(source->dropped_count(), last + 1 - i);
    EXPECT_LE(frame.info().captured_at, SteadyClock::now());
  }
}

TEST_F(VirtualCamera, StartsAgainAfterStop) {
  const auto source = open(program());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(source->start());
    EXPECT_EQ(must_get(*source).view().width, 640);
    source->stop();
    const auto next = source->next(SteadyClock::now());
    ASSERT_TRUE(next);
    EXPECT_EQ(std::get<NoFrame>(*next).reason, NoFrame::Reason::kStopped);
  }
}

TEST_F(VirtualCamera, TwoCamerasRunAtOnce) {
  const std::string path = program();
  const auto bars = open(path, "0");
  const auto lines = open(path, "lines");
  ASSERT_TRUE(bars->start());
  ASSERT_TRUE(lines->start());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(must_get(*bars).view().width, 640);
    EXPECT_EQ(must_get(*lines).view().width, 800);
  }
}

TEST_F(VirtualCamera, FramesHaveTheSizeThatTheCameraMadeOfTheWish) {
  SourceOptions wish = options(program());
  wish.width = wish.height = 300;
  const auto source = open_libcamera("bars", wish).value();
  ASSERT_TRUE(source->start());
  EXPECT_THAT(source->description(), HasSubstr("1280x720"));
  for (int i = 0; i < 8; ++i) {
    const Frame frame = must_get(*source);
    ASSERT_EQ(frame.view().width, 1280);
    ASSERT_EQ(frame.view().height, 720);
    EXPECT_TRUE(to_rgb(frame.view()));
  }
}

TEST_F(VirtualCamera, UnknownCameraNamesThoseThereAre) {
  const auto started = open(program_that_stops_unasked(), "porch")->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(started.error().message, HasSubstr("no camera \"porch\""));
  EXPECT_THAT(started.error().hint, HasSubstr("0: bars, 1: lines"));
}

TEST_F(VirtualCamera, SettingsThatTheCameraDoesNotHaveAreRefusedByName) {
  SourceOptions wish = options(program());
  const auto refused = [&wish](const CameraSettings& settings) {
    wish.camera = settings;
    const auto started = open_libcamera("bars", wish).value()->start();
    return started ? std::string("started") : describe(started.error());
  };
  EXPECT_THAT(refused({.exposure = 10}),
              HasSubstr("camera bars: camera.exposure: the camera has no control ExposureTime"));
  EXPECT_THAT(refused({.crop = {0.25, 0.25, 0.5, 0.5}}),
              HasSubstr("camera.crop: the camera has no control ScalerCrop"));
  EXPECT_THAT(refused({.rotation = 45}), HasSubstr("camera.rotation is 45"));
  EXPECT_EQ(refused({}), "started");
}

TEST_F(VirtualCamera, NoCameraSaysWhatToDo) {
  std::ofstream(folder() / "none.yaml") << "%YAML 1.1\n---\n{}\n";
  const auto started = open(program("--yaml " + (folder() / "none.yaml").string()))->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(started.error().message, HasSubstr("no camera found"));
  EXPECT_THAT(started.error().hint, HasSubstr("demo:"));
}

TEST_F(VirtualCamera, MissingBuffersAreNamed) {
  const auto started = open(program("--no-buffers"))->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(started.error().message, HasSubstr("no memory for 4 camera buffers of 640x480"));
}

TEST_F(VirtualCamera, StalledCameraIsEndedAndStartsAgain) {
  const auto source = open(program("--fps 60 --stall-after 10"));
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(source->start());
    EXPECT_EQ(must_get(*source).view().height, 480);
    bool stalled = false;
    for (int i = 0; i < 100 && !stalled; ++i) {
      const auto next = source->next(in(seconds(1)));
      ASSERT_TRUE(next);
      stalled = std::holds_alternative<NoFrame>(*next);
    }
    EXPECT_TRUE(stalled);
    source->stop();
  }
}

TEST_F(VirtualCamera, KilledProgramIsUnavailableAndStartsAgain) {
  const auto source = open(program());
  ASSERT_TRUE(source->start());
  const Frame kept = must_get(*source);
  ASSERT_EQ(::kill(running_program(), SIGKILL), 0);
  Result<std::variant<Frame, NoFrame>> next = NoFrame{};
  for (int i = 0; i < 100 && next; ++i) next = source->next(in(kLong));
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(next.error().message, HasSubstr("signal 9"));
  EXPECT_TRUE(to_rgb(kept.view())) << "the lease stays readable";
  ASSERT_TRUE(source->start());
  EXPECT_EQ(must_get(*source).info().sequence, 0U);
}

TEST_F(VirtualCamera, LeaseOutlivesTheSource) {
  auto source = open(program());
  ASSERT_TRUE(source->start());
  const Frame frame = must_get(*source);
  const Image before = to_rgb(frame.view()).value();
  source.reset();
  EXPECT_EQ(to_rgb(frame.view()).value().rgb, before.rgb);
}

TEST_F(VirtualCamera, FramesComeWhileDepthLeasesAreOut) {
  const auto source = open(program());
  ASSERT_TRUE(source->start());
  ASSERT_EQ(source->depth(), 2);  // the virtual camera has four buffers
  std::vector<Frame> leases;
  for (int i = 0; i < source->depth(); ++i) leases.push_back(must_get(*source));
  for (int i = 0; i < 20; ++i) must_get(*source);
}

TEST_F(VirtualCamera, AllBuffersLeasedMeansNoFrameUntilOneComesBack) {
  const auto source = open(program());
  ASSERT_TRUE(source->start());
  std::vector<Frame> leases;
  for (int i = 0; i < 3; ++i) leases.push_back(must_get(*source));
  const auto next = source->next(in(milliseconds(300)));
  ASSERT_TRUE(next);
  EXPECT_TRUE(std::holds_alternative<NoFrame>(*next));
  std::jthread([&leases] { leases.pop_back(); }).join();
  EXPECT_EQ(must_get(*source).view().width, 640);
}

TEST_F(VirtualCamera, WishedRateIsKeptByACameraThatDoesNot) {
  SourceOptions wish = options(program(""));
  wish.frames_per_second = 20;
  const auto source = open_libcamera("", wish).value();
  ASSERT_TRUE(source->start());
  const SteadyTime first = must_get(*source).info().captured_at;
  for (int i = 0; i < 9; ++i) must_get(*source);
  EXPECT_GT(must_get(*source).info().captured_at - first, milliseconds(400)) << "as fast as possible would be 20 ms";
}

TEST_F(VirtualCamera, ProgramEndsWithItsDaemon) {
  auto source = open(program());
  ASSERT_TRUE(source->start());
  const pid_t pid = running_program();
  source.reset();
  EXPECT_EQ(::kill(pid, 0), -1) << "still there after the source has gone";
}

TEST_F(VirtualCamera, ListIsJson) {
  const std::string command = program_that_stops_unasked() + " --list --json >" + (folder() / "list").string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_THAT(read_file(folder() / "list", 10'000).value(),
              HasSubstr(R"({"index":0,"id":"bars","model":"Virtual bars","location":"external"})"));
}

}  // namespace
}  // namespace kinglet::camera::testing
