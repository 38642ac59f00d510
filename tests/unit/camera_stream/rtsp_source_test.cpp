// SPDX-License-Identifier: Apache-2.0
// Why: what ffmpeg is told of a camera, and by which way; what it says of one is told as a person wants to hear it. A
// real ffmpeg and a real server are in tests/e2e/daemon/rtsp_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "camera/source/source.h"
#include "tests/unit/camera_stream/stream_sources.h"

namespace kinglet::camera {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Rtsp : public StreamSources {
 protected:
  void SetUp() override { options_.ffmpeg_program = fake("exec " KINGLET_BIN_DIR "/fake-frames y4m 320 180"); }

  // A program in the place of ffmpeg that keeps what it was given, and then does as `does` says.
  std::string fake(const std::string& does) {
    const std::string folder = folder_.path().string();
    return script("cat <&3 > " + folder + "/script\nprintf '%s\\n' \"$@\" > " + folder +
                  "/words\ntr '\\0' '\\n' </proc/$$/environ > " + folder + "/environment\n" + does);
  }
  [[nodiscard]] std::string kept(const char* name) const { return read_file(folder_.path() / name, 100'000).value(); }

  void log_in(const std::string& login) {
    options_.login_file = folder_.path() / "login";
    ASSERT_TRUE(write_file(options_.login_file, login + "\n", Overwrite::kReplace));
    std::filesystem::permissions(options_.login_file, std::filesystem::perms(0600));
  }
  Error refused(const std::string& spec) {
    const auto started = open(spec)->start();
    EXPECT_FALSE(started);
    return started ? Error{} : started.error();
  }
};

TEST_F(Rtsp, GivesTheLoginToFfmpegThroughAPipeAndNoOtherWay) {
  log_in("ow ner:s3'cr:t@/%\\");
  const auto source = open("rtsp://camera:8554/live/main?channel=1");
  ASSERT_TRUE(source->start());
  EXPECT_TRUE(frame(*source));
  EXPECT_THAT(kept("script"),
              StartsWith("file 'rtsp://ow%20ner:s3%27cr%3At%40%2F%25%5C@camera:8554/live/main?channel=1'\n"
                         "option rtsp_transport tcp\noption allowed_media_types video\n"));
  const std::string seen = kept("words") + kept("environment") + log() + source->description();
  EXPECT_THAT(seen, AllOf(Not(HasSubstr("ow%20ner")), Not(HasSubstr("ow ner")), Not(HasSubstr("s3%27")),
                          Not(HasSubstr("s3'cr"))));
  EXPECT_THAT(source->description(), AllOf(HasSubstr("rtsp://camera:8554/live/main"), Not(HasSubstr("channel"))));
}

TEST_F(Rtsp, WithoutALoginTheAddressIsAsItWasWritten) {
  ASSERT_TRUE(open("rtsp://[fd00::7]/it's?a='b'")->start());
  EXPECT_THAT(kept("script"), StartsWith("file 'rtsp://[fd00::7]/it'\\''s?a='\\''b'\\'''\n"));
}

TEST_F(Rtsp, AsksForTheWishedSizeAndRate) {
  options_.width = 640;
  options_.height = 360;
  options_.frames_per_second = 7.5;
  ASSERT_TRUE(open("rtsp://camera/live")->start());
  EXPECT_EQ(
      kept("words"),
      "-nostdin\n-hide_banner\n-loglevel\nerror\n-protocol_whitelist\npipe,rtsp,rtp,tcp\n-f\nconcat\n-safe\n0\n-i\n"
      "pipe:3\n-map\n0:v:0\n-vf\nselect='not(eq(floor(t*7.5),floor(prev_selected_t*7.5)))',setpts=N/(7.5*TB),"
      "scale=w='max(2,2*trunc(iw*sar*min(1,min(640/(iw*sar),360/ih))/2))':"
      "h='max(2,2*trunc(ih*min(1,min(640/(iw*sar),360/ih))/2))',setsar=1\n-fps_mode\npassthrough\n"
      "-pix_fmt\nyuv420p\n-f\nyuv4mpegpipe\npipe:1\n");
}

TEST_F(Rtsp, TakesTheCamerasOwnPaceWhereNoRateIsWished) {
  ASSERT_TRUE(open("rtsp://camera/live")->start());
  EXPECT_THAT(kept("words"), AllOf(HasSubstr("\n-vf\nsetpts="), Not(HasSubstr("select"))));
}

TEST_F(Rtsp, GoesOverUdpWhereItIsToldTo) {
  ASSERT_TRUE(open("rtsp://camera/live#transport=udp")->start());
  EXPECT_THAT(kept("script"), HasSubstr("camera/live'\noption rtsp_transport udp\n"));
  EXPECT_THAT(kept("words"), HasSubstr("\npipe,rtsp,rtp,tcp,udp\n"));
}

TEST_F(Rtsp, RefusesALoginThatFfmpegWouldCut) {
  log_in("owner:" + std::string(122, 'x'));
  const Error error = refused("rtsp://camera/live");
  EXPECT_EQ(error.code, ErrorCode::kConfig);
  EXPECT_THAT(describe(error), AllOf(HasSubstr("longer than ffmpeg takes"), Not(HasSubstr("xxx"))));
  log_in("owner:" + std::string(121, 'x'));
  EXPECT_TRUE(open("rtsp://camera/live")->start());
}

TEST_F(Rtsp, ReadsTheLoginAnewWithEachStart) {
  log_in("owner:one");
  const auto source = open("rtsp://camera/live");
  ASSERT_TRUE(source->start());
  source->stop();
  log_in("owner:two");
  ASSERT_TRUE(source->start());
  EXPECT_THAT(kept("script"), HasSubstr("owner:two@"));
}

// The conversation with a camera is in tests/e2e/daemon/sub_stream_test.py.
TEST_F(Rtsp, WithoutAPathACameraThatSaysNothingIsTakenAsItWasWritten) {
  log_in("owner:s3cret");
  options_.chosen_camera = std::make_shared<ChosenCamera>();
  const auto source = open("rtsp://no-such-camera.invalid:8554/");
  ASSERT_TRUE(source->start());
  EXPECT_THAT(kept("script"), StartsWith("file 'rtsp://owner:s3cret@no-such-camera.invalid:8554/'\n"));
  EXPECT_THAT(log(), AllOf(HasSubstr("does not say by ONVIF where its streams are"), HasSubstr("as it was written"),
                           Not(HasSubstr("s3cret"))));
}

TEST_F(Rtsp, AskingACameraTakesItsTimeOnlyWhereItIsAsked) {
  const auto plain = open("rtsp://camera/live")->longest_start();
  EXPECT_EQ(open("rtsp://camera")->longest_start(), plain);  // no login: as it was written
  EXPECT_GT(open("rtsp://camera#stream=sub")->longest_start(), plain);
  log_in("owner:s3cret");
  EXPECT_GT(open("rtsp://camera:8554/#transport=udp")->longest_start(), plain);
  EXPECT_EQ(open("rtsp://camera/live")->longest_start(), plain);
  EXPECT_EQ(open("rtsp://camera/?channel=1")->longest_start(), plain);
}

TEST_F(Rtsp, APathThatIsKnownForTheLargeStreamGivesAHintAndNothingElse) {
  options_.chosen_camera = std::make_shared<ChosenCamera>();
  const auto source = open("rtsp://camera/cam/realmonitor?channel=1&subtype=0");
  ASSERT_TRUE(source->start());
  EXPECT_THAT(kept("script"), StartsWith("file 'rtsp://camera/cam/realmonitor?channel=1&subtype=0'\n"));
  EXPECT_THAT(log(), HasSubstr("may have a smaller stream at /cam/realmonitor?channel=1&subtype=1"));
}

TEST_F(Rtsp, TellsThatTheCameraEndedTheStream) {
  options_.ffmpeg_program = fake("exec " KINGLET_BIN_DIR "/fake-frames y4m 320 180 3");
  const auto source = open("rtsp://camera/live");
  ASSERT_TRUE(source->start());
  EXPECT_EQ(end_of(*source).message, "camera rtsp://camera/live ended the stream");
}

TEST_F(Rtsp, KeepsSecretsOutOfWhatFfmpegSays) {
  log_in("owner:s3cret");
  options_.ffmpeg_program = fake(
      "echo \"Impossible to open 'rtsp://owner:s3cret@camera/live?pwd=hidden': 404 Not Found\" >&2\n"
      "echo \"bad rtsp://owner:s3cret@camera/live?pwd=hidden\" >&2; exit 7");
  const Error error = refused("rtsp://camera/live?pwd=hidden");
  EXPECT_THAT(error.message, AllOf(StartsWith("camera rtsp://camera/live: "),
                                   EndsWith(" ended with exit code 7: bad rtsp://***@camera/live?***")));
  EXPECT_THAT(log(), AllOf(HasSubstr("Impossible to open"), Not(HasSubstr("s3cret")), Not(HasSubstr("hidden"))));
}

TEST_F(Rtsp, KeepsSecretsOfAPathToItselfAsWell) {
  options_.ffmpeg_program = fake("echo 'bad rtsp://camera/live/user=me_password=hidden_channel=1.sdp?x' >&2; exit 7");
  const Error error = refused("rtsp://camera/live/user=me_password=hidden_channel=1.sdp?x");
  EXPECT_THAT(error.message,
              AllOf(StartsWith("camera rtsp://camera/live/: "), EndsWith(": bad rtsp://camera/live/***")));
  EXPECT_THAT(log(), AllOf(HasSubstr("bad rtsp"), Not(HasSubstr("hidden"))));
}

TEST_F(Rtsp, ALoginThatWasRefusedIsNotTriedAgainAtOnceAndAnotherOneIs) {
  options_.chosen_camera = std::make_shared<ChosenCamera>();  // outlives each source
  options_.ffmpeg_program = fake("echo x >> " + (folder_.path() / "starts").string() +
                                 "; echo 'Error opening input files: Server returned 401 Unauthorized' >&2; exit 8");
  log_in("owner:wrong");
  const Error first = refused("rtsp://camera/live");
  const Error second = refused("rtsp://camera/live");
  EXPECT_EQ(kept("starts"), "x\n");
  EXPECT_EQ(std::pair(second.message, second.hint), std::pair(first.message, first.hint));
  EXPECT_THAT(first.hint, HasSubstr("lock out"));
  log_in("owner:other");
  refused("rtsp://camera/live");
  EXPECT_EQ(kept("starts"), "x\nx\n");
}

TEST_F(Rtsp, ACameraThatWantsALoginWhereNoneIsNamedSaysWhichKeyNamesIt) {
  options_.ffmpeg_program = fake("echo 'Error opening input files: Server returned 401 Unauthorized' >&2; exit 8");
  const Error error = refused("rtsp://camera/live");
  EXPECT_EQ(error.message, "camera rtsp://camera/live wants a login");
  EXPECT_THAT(error.hint, HasSubstr("source.login_file"));
}

struct Said {
  std::string ffmpeg;  // its last line, as version 7.1 has it
  std::string message;
  std::string hint;
};
class RtspTrouble : public Rtsp, public ::testing::WithParamInterface<Said> {};

TEST_P(RtspTrouble, IsToldAsAPersonWantsToHearIt) {
  log_in("owner:s3cret");
  options_.ffmpeg_program =
      fake("echo \"" + GetParam().ffmpeg + "\" >&2; echo 'Error opening input files' >&2; exit 8");
  const Error error = refused("rtsp://camera/live");
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, EndsWith(GetParam().message));
  EXPECT_THAT(error.message, StartsWith("camera rtsp://camera/live "));
  EXPECT_THAT(error.hint, HasSubstr(GetParam().hint));
}

const Said kSaid[] = {
    {"[in#0 @ 0x5] Error opening input: Server returned 401 Unauthorized (authorization failed)",
     "does not take the login of source.login_file", "user:password"},
    {"Error opening input files: Server returned 403 Forbidden (access denied)",
     "does not take the login of source.login_file", "user of the camera"},
    {"[in#0 @ 0x5] Error opening input: Server returned 404 Not Found", "has nothing at this path", "docs/sources.md"},
    {"[tcp @ 0x5] Connection to tcp://127.0.0.1:9?timeout=0 failed: Connection refused", "lets nobody in", "port"},
    {"[tcp @ 0x5] Failed to resolve hostname nowhere.invalid: Name or service not known", "is not known by this name",
     "numbers"},
    {"Error opening input files: Connection timed out", "does not answer", "same network"},
    {"[tcp @ 0x5] Connection to tcp://10.9.9.9:554?timeout=0 failed: No route to host", "cannot be reached",
     "same network"},
    {"[tcp @ 0x5] Connection to tcp://10.9.9.9:554?timeout=0 failed: Network is unreachable", "cannot be reached",
     "network"},
    {"[rtsp @ 0x5] method SETUP failed: returned 461 Unsupported Transport", "does not send over TCP",
     "#transport=udp"},
    {"Error opening input files: Invalid data found when processing input", "does not speak RTSP", "port"},
    {"[out#0/yuv4mpegpipe @ 0x5] Output file does not contain any stream", "sends no video", "docs/sources.md"},
    {"Stream map '0:v:0' matches no streams.", "sends no video", "docs/sources.md"},
};
INSTANTIATE_TEST_SUITE_P(All, RtspTrouble, ::testing::ValuesIn(kSaid),
                         [](const auto& test) { return "row" + std::to_string(test.index); });

}  // namespace
}  // namespace kinglet::camera
