// SPDX-License-Identifier: Apache-2.0
// Why: network cameras that misbehave: each costs an Error that says so, or a picture, never a hang or a login that is
// seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <thread>

#include "camera/decode/to_rgb.h"
#include "camera/source/source.h"
#include "tests/support/picture_server.h"
#include "tests/support/pillow_oracle.h"
#include "tests/unit/camera_stream/stream_sources.h"

namespace kinglet::camera {
namespace {

using namespace std::chrono_literals;
using kinglet::testing::jpeg_of;
using kinglet::testing::PictureServer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Network : public StreamSources {
 protected:
  Error refused(const std::string& spec) {
    const auto started = open(spec)->start();
    EXPECT_FALSE(started);
    return started ? Error{} : started.error();
  }
  PictureServer server_;
};

TEST_F(Network, KeepsTheLoginInAFileAndOutOfAllMessages) {
  server_.require("owner:s3cret");
  const std::string query = "?user=owner&pwd=hidden";
  const Error without = refused("mjpeg:" + server_.address("/stream") + query);
  EXPECT_THAT(without.message, HasSubstr("401"));
  EXPECT_THAT(without.hint, HasSubstr("login_file"));
  EXPECT_THAT(describe(without), Not(HasSubstr("hidden")));

  options_.login_file = folder_.path() / "login";
  ASSERT_TRUE(write_file(options_.login_file, "owner:s3cret\n", Overwrite::kReplace));
  std::filesystem::permissions(options_.login_file, std::filesystem::perms(0644));
  EXPECT_EQ(refused("mjpeg:" + server_.address("/stream")).code, ErrorCode::kNotPermitted);
  std::filesystem::permissions(options_.login_file, std::filesystem::perms(0640));
  for (const std::string& spec :
       {"mjpeg:" + server_.address("/stream"), "snapshot:" + server_.address("/snapshot.jpg")}) {
    const auto source = open(spec + query);
    ASSERT_TRUE(source->start()) << spec;
    EXPECT_TRUE(frame(*source));
    EXPECT_THAT(source->description(),
                AllOf(HasSubstr("127.0.0.1"), Not(HasSubstr("hidden")), Not(HasSubstr("s3cret"))));
  }
  EXPECT_THAT(log(), AllOf(Not(HasSubstr("s3cret")), Not(HasSubstr("hidden"))));
  ASSERT_TRUE(write_file(options_.login_file, "nothing", Overwrite::kReplace));
  std::filesystem::permissions(options_.login_file, std::filesystem::perms(0600));
  EXPECT_EQ(refused("mjpeg:" + server_.address("/stream")).code, ErrorCode::kConfig);
}

TEST_F(Network, WhoSendsUsOnToAnotherHostDoesNotSendTheLoginThere) {
  PictureServer elsewhere;  // another port of a host is as strange
  for (PictureServer* server : {&server_, &elsewhere}) server->require("owner:s3cret");
  server_.send_on("/here", "/stream");
  server_.send_on("/away", elsewhere.address("/stream"));
  options_.login_file = folder_.path() / "login";
  ASSERT_TRUE(write_file(options_.login_file, "owner:s3cret\n", Overwrite::kReplace));
  std::filesystem::permissions(options_.login_file, std::filesystem::perms(0600));
  const auto source = open("mjpeg:" + server_.address("/here"));
  ASSERT_TRUE(source->start());
  EXPECT_TRUE(frame(*source));
  for (const char* scheme : {"mjpeg:", "snapshot:"}) {
    EXPECT_THAT(refused(scheme + server_.address("/away")).message, HasSubstr("401"));
  }
  EXPECT_GE(elsewhere.requests(), 2U);
  EXPECT_EQ(elsewhere.logins(), 0U);
}

TEST_F(Network, SaysWhatAnswerItGot) {
  server_.answer("/page", "text/html", [](int i) { return i == 0 ? "<html>" : ""; });
  EXPECT_THAT(refused("mjpeg:" + server_.address("/page")).message, HasSubstr("text/html"));
  EXPECT_THAT(refused("snapshot:" + server_.address("/page")).message, HasSubstr("text/html"));
  EXPECT_THAT(refused("mjpeg:" + server_.address("/nothing")).message, HasSubstr("404"));
  EXPECT_THAT(refused("mjpeg:" + server_.address("/snapshot.jpg")).hint, HasSubstr("snapshot:"));
  EXPECT_THAT(refused("snapshot:" + server_.address("/stream")).hint, HasSubstr("mjpeg:"));
}

TEST_F(Network, ReadsStreamsWithAWrongBoundaryOrNone) {
  const std::array<std::string, 4> types{"multipart/x-mixed-replace; boundary=--frame", "multipart/x-mixed-replace",
                                         "video/x-motion-jpeg", "application/octet-stream"};
  const auto path_of = [](const std::string& type) { return "/" + std::to_string(type.size()); };
  for (const std::string& type : types) {
    server_.answer(path_of(type), type, [](int i) { return PictureServer::part(i); });
  }
  for (const std::string& type : types) {
    const auto source = open("mjpeg:" + server_.address(path_of(type)));
    ASSERT_TRUE(source->start()) << type;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(to_rgb(frame(*source).value().view()));
  }
}

TEST_F(Network, GivesUpHeadersWithoutEnd) {
  server_.answer("/endless", "multipart/x-mixed-replace; boundary=frame",
                 [](int i) { return i == 0 ? PictureServer::part(0) + "--frame\r\n" : std::string(4000, 'x'); });
  const auto source = open("mjpeg:" + server_.address("/endless"));
  ASSERT_TRUE(source->start());
  EXPECT_THAT(end_of(*source).message, HasSubstr("headers of a part without an end"));
}

TEST_F(Network, TellsThatTheServerEndedTheStreamInTheMiddleOfAPart) {
  server_.answer("/cut", "multipart/x-mixed-replace; boundary=frame", [](int i) {
    return i < 2 ? PictureServer::part(i) : i == 2 ? PictureServer::part(i).substr(0, 300) : "";
  });
  const auto source = open("mjpeg:" + server_.address("/cut"));
  ASSERT_TRUE(source->start());
  EXPECT_TRUE(frame(*source));
  EXPECT_TRUE(frame(*source));
  EXPECT_THAT(describe(end_of(*source)), AllOf(HasSubstr("ended"), HasSubstr("127.0.0.1")));
  ASSERT_TRUE(source->start());
  EXPECT_TRUE(frame(*source));
}

TEST_F(Network, AStreamThatStallsIsADeadlineAndCanBeStopped) {
  // Outlives the test in the server's thread.
  const auto over = std::make_shared<std::atomic<bool>>(false);
  server_.answer("/stall", "multipart/x-mixed-replace; boundary=frame", [over](int i) {
    if (i == 0) return PictureServer::part(0);
    for (int turn = 0; turn < 30'000 && !*over; ++turn) std::this_thread::sleep_for(1ms);
    return std::string();
  });
  const auto source = open("mjpeg:" + server_.address("/stall"));
  ASSERT_TRUE(source->start());
  ASSERT_TRUE(frame(*source));
  EXPECT_EQ(std::get<NoFrame>(source->next(SteadyClock::now() + 50ms).value()).reason, NoFrame::Reason::kDeadline);
  std::jthread stopper([&] { source->stop(); });
  EXPECT_EQ(std::get<NoFrame>(source->next(SteadyClock::now() + 1h).value()).reason, NoFrame::Reason::kStopped);
  *over = true;
}

TEST_F(Network, SnapshotsComeAtTheirRate) {
  const auto source = open("snapshot:" + server_.address("/snapshot.jpg#fps=20"));
  const SteadyTime before = SteadyClock::now();
  ASSERT_TRUE(source->start());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(frame(*source));
  EXPECT_GE(SteadyClock::now() - before, 190ms);
  EXPECT_EQ(source->longest_pause(), 10s) << "a request may take so long";
  EXPECT_LE(server_.requests(), 6U);
}

TEST_F(Network, ASnapshotThatIsNoPictureIsSkipped) {
  const auto count = std::make_shared<std::atomic<unsigned>>(0);
  server_.answer("/mixed", "image/jpeg", [count, sent = false](int) mutable {
    if (std::exchange(sent, false)) return std::string();
    sent = true;
    return ++*count % 2 == 0 ? std::string("no picture") : jpeg_of(64, 48, *count);
  });
  const auto source = open("snapshot:" + server_.address("/mixed#fps=100"));
  ASSERT_TRUE(source->start());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(to_rgb(frame(*source).value().view()));
}

}  // namespace
}  // namespace kinglet::camera
