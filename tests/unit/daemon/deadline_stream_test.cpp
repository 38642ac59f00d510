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
  const TimeLimits limits{.between_bytes = milliseconds(10'000), .whole_request = milliseconds(100)};
  DeadlineStream stream(server_.get(), limits, stopping_);
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

}  // namespace
}  // namespace kinglet::daemon::http
