// SPDX-License-Identifier: Apache-2.0
// Why: a stop counts at whatever moment of a start it comes.
#include "camera/stream/stream_source.h"

#include <gtest/gtest.h>

namespace kinglet::camera {
namespace {

using namespace std::chrono_literals;

// Gives nothing until it is closed.
class Silent final : public ByteStream {
 public:
  Result<std::size_t> read(std::span<std::byte>, SteadyTime) override {
    ADD_FAILURE() << "nobody wants bytes of what was stopped";
    return fail(ErrorCode::kUnavailable, "silent");
  }
  void close() override {}
};

// As if another thread stopped it in the moment in which the program runs and nothing of it was read yet.
class StoppedAsItOpens final : public StreamSource {
 public:
  StoppedAsItOpens() : StreamSource({}, {}) {}
  bool stops = true;
  int opened = 0;
  std::string description() const override { return "a camera"; }

 protected:
  Result<std::unique_ptr<ByteStream>> open_stream() override {
    ++opened;
    if (stops) stop();
    return std::make_unique<Silent>();
  }
  Result<std::unique_ptr<StreamParser>> open_parser(ByteStream&, SteadyTime) override {
    return fail(ErrorCode::kBadData, "no header");
  }
  std::string subject() const override { return "a camera"; }
};

TEST(StreamSource, IsStoppedAlsoWhileItOpens) {
  StoppedAsItOpens source;
  const Result<void> started = source.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, "a camera was stopped while it started");
  EXPECT_EQ(std::get<NoFrame>(source.next(SteadyClock::now()).value()).reason, NoFrame::Reason::kStopped);
}

TEST(StreamSource, ForgetsAStopOfBeforeWhenItIsStartedAnew) {
  StoppedAsItOpens source;
  source.stop();
  EXPECT_FALSE(source.start());
  source.stops = false;
  EXPECT_EQ(source.start().error().message, "no header");
  EXPECT_EQ(source.opened, 2);
}

}  // namespace
}  // namespace kinglet::camera
