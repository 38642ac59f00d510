// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/deadline_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "engine/base/file.h"

namespace kinglet::daemon::http {
namespace {

using std::chrono::milliseconds;

class DeadlineStreamTest : public ::testing::Test {
 protected:
  DeadlineStreamTest() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0) {
      server_ = FileDescriptor(ends[0]);
      client_ = FileDescriptor(ends[1]);
    }
  }
  static void read_bytes(DeadlineStream& stream, int count) {
    char byte = 0;
    for (int i = 0; i < count; ++i) ASSERT_EQ(stream.read(&byte, 1), 1) << i;
  }
  void send(std::string_view text) const {
    ASSERT_EQ(::send(client_.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }

  FileDescriptor server_;
  FileDescriptor client_;
  std::atomic<bool> stopping_{false};
};

TEST_F(DeadlineStreamTest, GivesBytesOneByOneFromItsBuffer) {
  const TimeLimits limits;
  DeadlineStream stream(server_.get(), limits, stopping_);
  send("ab");
  stream.begin_request();
  char byte = 0;
  EXPECT_EQ(stream.read(&byte, 1), 1);
  EXPECT_EQ(byte, 'a');
  EXPECT_EQ(stream.read(&byte, 1), 1);
  EXPECT_EQ(byte, 'b');
}

TEST_F(DeadlineStreamTest, EndsADrippingRequestAtItsDeadline) {
  const TimeLimits limits{.between_bytes = milliseconds(10'000), .whole_request = milliseconds(300)};
  DeadlineStream stream(server_.get(), limits, stopping_);
  send("x");
  std::jthread drip([this](const std::stop_token& stop) {
    while (!stop.stop_requested() && ::send(client_.get(), "x", 1, MSG_NOSIGNAL) == 1) {
      std::this_thread::sleep_for(milliseconds(5));
    }
  });
  stream.begin_request();
  char byte = 0;
  int count = 0;
  while (stream.read(&byte, 1) == 1) ++count;
  EXPECT_GT(count, 0);
  EXPECT_LT(count, 4000) << "it has become too long for a line of a head";
}

TEST_F(DeadlineStreamTest, GivesUpOnASilentClient) {
  const TimeLimits limits{.between_bytes = milliseconds(20)};
  DeadlineStream stream(server_.get(), limits, stopping_);
  stream.begin_request();
  char byte = 0;
  EXPECT_EQ(stream.read(&byte, 1), -1);
}

TEST_F(DeadlineStreamTest, NoticesAStopWhileWaiting) {
  const TimeLimits limits{.between_bytes = milliseconds(600'000), .whole_request = milliseconds(600'000)};
  DeadlineStream stream(server_.get(), limits, stopping_);
  std::jthread stopper([this] { stopping_ = true; });
  stream.begin_request();
  char byte = 0;
  EXPECT_EQ(stream.read(&byte, 1), -1);
}

TEST_F(DeadlineStreamTest, AnIdleConnectionGivesWay) {
  const TimeLimits limits;
  DeadlineStream stream(server_.get(), limits, stopping_);
  EXPECT_FALSE(stream.wait_for_request(SteadyClock::now() + std::chrono::hours(1), [] { return true; }));
}

TEST_F(DeadlineStreamTest, ABufferedRequestNeedsNoWaiting) {
  const TimeLimits limits;
  DeadlineStream stream(server_.get(), limits, stopping_);
  send("one two");
  stream.begin_request();
  std::array<char, 3> word{};
  EXPECT_EQ(stream.read(word.data(), word.size()), 3);
  EXPECT_TRUE(stream.wait_for_request(SteadyClock::now(), [] { return true; }));
}

TEST_F(DeadlineStreamTest, SendsAHeadTogetherWithItsBody) {
  const TimeLimits limits;
  DeadlineStream stream(server_.get(), limits, stopping_);
  EXPECT_EQ(stream.write("head ", 5), 5);
  std::array<char, 16> bytes{};
  EXPECT_EQ(recv(client_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT), -1);
  EXPECT_EQ(stream.write("body", 4), 4);
  EXPECT_EQ(recv(client_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT), 9);
  EXPECT_STREQ(bytes.data(), "head body");
}

// "100 Continue" waits for nothing, and a stream's head not for its first picture.
TEST_F(DeadlineStreamTest, SendsAHeadBeforeItWaitsForAnything) {
  const TimeLimits limits{.between_bytes = milliseconds(1)};
  DeadlineStream stream(server_.get(), limits, stopping_);
  std::array<char, 16> bytes{};
  const auto arrives = [&] { return recv(client_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) == 4; };
  EXPECT_EQ(stream.write("head", 4), 4);
  EXPECT_TRUE(stream.is_writable());
  EXPECT_TRUE(arrives());
  stream.begin_request();
  EXPECT_EQ(stream.write("next", 4), 4);
  EXPECT_FALSE(stream.is_readable());
  EXPECT_TRUE(arrives());
  EXPECT_EQ(stream.write("last", 4), 4);
  EXPECT_TRUE(stream.flush());
  EXPECT_TRUE(arrives());
}

TEST_F(DeadlineStreamTest, ASlowHeadGivesWayOnlyToOthers) {
  const TimeLimits limits{.between_bytes = milliseconds(1000), .swift_head = milliseconds(20)};
  int asked = 0;
  DeadlineStream alone(server_.get(), limits, stopping_, nullptr, [&] {
    ++asked;
    return false;
  });
  send("G");
  alone.begin_request();
  char byte = 0;
  EXPECT_EQ(alone.read(&byte, 1), 1);
  EXPECT_EQ(alone.read(&byte, 1), -1) << "nothing came";
  EXPECT_GT(asked, 0);
  EXPECT_FALSE(alone.gave_way());

  const TimeLimits patient{
      .between_bytes = milliseconds(600'000), .whole_request = milliseconds(600'000), .swift_head = milliseconds(20)};
  DeadlineStream crowded(server_.get(), patient, stopping_, nullptr, [] { return true; });
  crowded.begin_request();
  EXPECT_EQ(crowded.read(&byte, 1), -1);
  EXPECT_TRUE(crowded.gave_way());
}

TEST_F(DeadlineStreamTest, ASlowBodyGivesWayAndIsTold) {
  const TimeLimits limits{.between_bytes = milliseconds(600'000),
                          .whole_request = milliseconds(600'000),
                          .swift_head = milliseconds(600'000),
                          .swift_start = milliseconds(20)};
  DeadlineStream stream(server_.get(), limits, stopping_, nullptr, [] { return true; });
  send("GET / HTTP/1.1\r\n\r\nb");
  stream.begin_request();
  read_bytes(stream, 19);
  char byte = 0;
  EXPECT_EQ(stream.read(&byte, 1), -1);
  EXPECT_TRUE(stream.gave_way());
  EXPECT_EQ(stream.write("no", 2), 2);
  EXPECT_TRUE(stream.flush());
}

TEST_F(DeadlineStreamTest, AnUploadMayTakeLongerThanARequestWhileItIsSwift) {
  const TimeLimits limits{
      .whole_request = milliseconds(100), .swift_bytes_per_second = 10, .upload_start = milliseconds(100)};
  DeadlineStream stream(server_.get(), limits, stopping_);
  stream.begin_request();
  send("PUT / HTTP/1.1\r\n\r\n");
  read_bytes(stream, 18);
  send("twenty bytes of model");
  stream.begin_upload();
  std::jthread client([this] {
    for (int i = 1; i < 30; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
      send("twenty bytes of model");
    }
  });
  read_bytes(stream, 30 * 21);
}

TEST_F(DeadlineStreamTest, ASlowUploadEndsEvenWhenNobodyWaits) {
  const TimeLimits limits{.between_bytes = milliseconds(600'000), .upload_start = milliseconds(500)};
  DeadlineStream stream(server_.get(), limits, stopping_);
  stream.begin_request();
  send("PUT / HTTP/1.1\r\n\r\nb");
  read_bytes(stream, 18);
  stream.begin_upload();
  char byte = 0;
  EXPECT_EQ(stream.read(&byte, 1), 1);
  EXPECT_FALSE(stream.upload_was_slow());
  EXPECT_EQ(stream.read(&byte, 1), -1);
  EXPECT_TRUE(stream.upload_was_slow());
}

TEST_F(DeadlineStreamTest, ASlowReaderGivesWayUnlessItsAnswerIsALongOne) {
  const TimeLimits limits{.write = milliseconds(1000), .swift_start = milliseconds(20), .swift_bytes_per_second = 1e9};
  const std::string much(4 << 20, 'x');
  for (const bool long_answer : {false, true}) {
    int asked = 0;
    DeadlineStream stream(server_.get(), limits, stopping_, nullptr, [&] {
      ++asked;
      return true;
    });
    stream.begin_request();
    if (long_answer) stream.begin_long_answer();
    ssize_t sent = 0;
    while ((sent = stream.write(much.data(), much.size())) > 0) {
    }
    EXPECT_EQ(stream.gave_way(), !long_answer);
    EXPECT_EQ(asked > 0, !long_answer);
  }
}

TEST(HeadWatch, LetsPassWhatTheContractAllows) {
  HeadWatch watch;
  watch.look("GET /" + std::string(8192 - 16, 'a') + " HTTP/1.1\r\n");
  for (std::size_t i = 0; i < HeadWatch::kMostHeaders; ++i) watch.look("X: " + std::string(8192 - 5, 'b') + "\r\n");
  EXPECT_FALSE(watch.over());
  watch.look("\r\n");
  EXPECT_TRUE(watch.over());
  watch.look(std::string(1 << 20, 'c'));
  EXPECT_EQ(watch.too_much(), HeadWatch::TooMuch::kNothing);
}

TEST(HeadWatch, SeesALongLineBeforeItsEnd) {
  HeadWatch watch;
  watch.look(std::string(8192, 'a'));
  EXPECT_EQ(watch.too_much(), HeadWatch::TooMuch::kRequestLine);
  watch.begin();
  watch.look("GET / HTTP/1.1\r\nX: " + std::string(8189, 'b'));
  EXPECT_EQ(watch.too_much(), HeadWatch::TooMuch::kHeaders);
}

TEST(HeadWatch, CountsTheHeaders) {
  HeadWatch watch;
  watch.look("GET / HTTP/1.1\r\n");
  for (std::size_t i = 0; i <= HeadWatch::kMostHeaders; ++i) watch.look("a: b\n");
  EXPECT_EQ(watch.too_much(), HeadWatch::TooMuch::kHeaders);
}

}  // namespace
}  // namespace kinglet::daemon::http
