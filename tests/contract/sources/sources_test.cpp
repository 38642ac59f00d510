// SPDX-License-Identifier: Apache-2.0
// Why: what every row of sources.def promises (camera/source.h), tried on each row that can run on this machine.
#include <gtest/gtest.h>

#include <future>
#include <set>
#include <thread>

#include "camera/decode.h"
#include "camera/source.h"
#include "engine/base/file.h"
#include "tests/support/faulty_source.h"
#include "tests/support/pictures.h"
#include "tests/support/pillow_oracle.h"

namespace kinglet::camera {
namespace {

using namespace std::chrono_literals;
using kinglet::testing::Fault;
using kinglet::testing::FaultSwitch;
using kinglet::testing::FaultySource;
using Next = Result<std::variant<Frame, NoFrame>>;

// A row of the table with what it needs to run; rows that need a device are tried with one in their own tests.
struct Subject {
  std::string scheme;
  std::string spec;  // FOLDER stands for one with three pictures
};

void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.scheme; }

class SourceContract : public ::testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    for (const std::string name : {"a.png", "b.png", "c.png"}) {
      const auto png =
          encode_png(kinglet::testing::make_picture(96, 64, static_cast<unsigned>(name[0])).view()).value();
      ASSERT_TRUE(write_file(folder_.path() / name, {reinterpret_cast<const char*>(png.data()), png.size()},
                             Overwrite::kRefuse));
    }
    SourceOptions options;
    options.spec = GetParam().spec;
    if (const auto at = options.spec.find("FOLDER"); at != std::string::npos) {
      options.spec.replace(at, 6, folder_.path().string());
    }
    options.width = 320;
    options.height = 180;
    options.frames_per_second = 200;
    auto source = open_source(options);
    ASSERT_TRUE(source) << describe(source.error());
    source_ = std::move(*source);
  }

  [[nodiscard]] Frame frame() {
    Next got = source_->next(SteadyClock::now() + 30s);
    EXPECT_TRUE(got && std::holds_alternative<Frame>(*got));
    return got && std::holds_alternative<Frame>(*got) ? std::get<Frame>(*std::move(got)) : Frame();
  }
  [[nodiscard]] static NoFrame::Reason reason(const Next& got) {
    EXPECT_TRUE(got && std::holds_alternative<NoFrame>(*got));
    return got && std::holds_alternative<NoFrame>(*got) ? std::get<NoFrame>(*got).reason : NoFrame::Reason::kEnd;
  }

  kinglet::testing::ScratchFolder folder_;
  std::unique_ptr<FrameSource> source_;
};

TEST_P(SourceContract, GivesFramesThatFitTheirFormat) {
  ASSERT_TRUE(source_->start());
  const Frame got = frame();
  EXPECT_TRUE(check_view(got.view()));
  EXPECT_GT(got.view().width, 0);
}

TEST_P(SourceContract, CountsTheSequenceUpFromZero) {
  ASSERT_TRUE(source_->start());
  std::uint64_t last = frame().info().sequence;
  for (int i = 0; i < 20; ++i) {
    const Frame got = frame();
    EXPECT_GT(got.info().sequence, last);
    last = got.info().sequence;
  }
  source_->stop();
  ASSERT_TRUE(source_->start());
  EXPECT_LT(frame().info().sequence, last);
}

TEST_P(SourceContract, TakesCaptureTimesFromTheSteadyClock) {
  const SteadyTime before = SteadyClock::now();
  ASSERT_TRUE(source_->start());
  const SteadyTime first = frame().info().captured_at;
  EXPECT_GE(first, before);
  EXPECT_LE(first, SteadyClock::now());
  EXPECT_GE(frame().info().captured_at, first);
}

TEST_P(SourceContract, HandsOutAsManyLeasesAsItsDepthAndGoesOnWhenOneComesBack) {
  ASSERT_TRUE(source_->start());
  std::vector<Frame> held;
  std::set<const std::byte*> buffers;
  for (int i = 0; i < source_->depth(); ++i) {
    held.push_back(frame());
    buffers.insert(held.back().view().planes[0].bytes.data());
  }
  EXPECT_EQ(buffers.size(), held.size());
  EXPECT_EQ(reason(source_->next(SteadyClock::now() + 20ms)), NoFrame::Reason::kDeadline);
  held.erase(held.begin());
  EXPECT_TRUE(check_view(frame().view()));
}

TEST_P(SourceContract, LeavesALeasedFrameAlone) {
  ASSERT_TRUE(source_->start());
  const Frame kept = frame();
  const auto before = kinglet::testing::digest(kept.view().planes[0].bytes);
  for (int i = 0; i < 10; ++i) (void)frame();
  EXPECT_EQ(kinglet::testing::digest(kept.view().planes[0].bytes), before);
}

TEST_P(SourceContract, KeepsAFrameReadableAfterStopAndAfterItsOwnEnd) {
  ASSERT_TRUE(source_->start());
  const Frame kept = frame();
  const auto before = kinglet::testing::digest(kept.view().planes[0].bytes);
  source_->stop();
  source_.reset();
  EXPECT_EQ(kinglet::testing::digest(kept.view().planes[0].bytes), before);
}

TEST_P(SourceContract, GivesNoFrameAfterStop) {
  ASSERT_TRUE(source_->start());
  (void)frame();
  source_->stop();
  source_->stop();
  EXPECT_EQ(reason(source_->next(SteadyClock::now() + 30s)), NoFrame::Reason::kStopped);
}

TEST_P(SourceContract, WakesAWaitingNextOnStop) {
  ASSERT_TRUE(source_->start());
  std::vector<Frame> held;
  for (int i = 0; i < source_->depth(); ++i) held.push_back(frame());  // so that the next one has to wait
  auto waiting = std::async(std::launch::async, [&] { return source_->next(SteadyClock::now() + 60s); });
  std::this_thread::sleep_for(5ms);
  source_->stop();
  ASSERT_EQ(waiting.wait_for(30s), std::future_status::ready);
  EXPECT_EQ(reason(waiting.get()), NoFrame::Reason::kStopped);
}

TEST_P(SourceContract, StartsAgainWithLeasesOut) {
  ASSERT_TRUE(source_->start());
  const Frame kept = frame();
  source_->stop();
  ASSERT_TRUE(source_->start());
  EXPECT_NE(frame().view().planes[0].bytes.data(), kept.view().planes[0].bytes.data());
}

TEST_P(SourceContract, IsStoppedBeforeItStarts) {
  EXPECT_EQ(reason(source_->next(SteadyClock::now() + 30s)), NoFrame::Reason::kStopped);
}

TEST_P(SourceContract, ReturnsAtOnceWhenTheDeadlineHasPassedAndNothingIsThere) {
  ASSERT_TRUE(source_->start());
  std::vector<Frame> held;
  for (int i = 0; i < source_->depth(); ++i) held.push_back(frame());
  EXPECT_EQ(reason(source_->next(SteadyClock::now() - 1s)), NoFrame::Reason::kDeadline);
}

TEST_P(SourceContract, DescribesItself) { EXPECT_FALSE(source_->description().empty()); }

TEST_P(SourceContract, ComesBackAfterEveryFault) {
  const auto faults = std::make_shared<FaultSwitch>();
  source_ = std::make_unique<FaultySource>(std::move(source_), faults);
  ASSERT_TRUE(source_->start());
  (void)frame();
  faults->set(Fault::kStall);
  EXPECT_EQ(reason(source_->next(SteadyClock::now() + 5ms)), NoFrame::Reason::kDeadline);
  faults->set(Fault::kTruncated);
  EXPECT_FALSE(check_view(frame().view()));
  faults->set(Fault::kGarbage);
  EXPECT_FALSE(check_view(frame().view()));
  faults->set(Fault::kDisconnect);
  EXPECT_EQ(source_->next(SteadyClock::now() + 30s).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(source_->start());
  faults->set(Fault::kNone);
  ASSERT_TRUE(source_->start());
  EXPECT_TRUE(check_view(frame().view()));
}

const Subject kSubjects[] = {
    {"demo", "demo:3"},
    {"images", "images:FOLDER"},
    {"images_max", "images:FOLDER?fps=max"},
};
INSTANTIATE_TEST_SUITE_P(Sources, SourceContract, ::testing::ValuesIn(kSubjects),
                         [](const auto& test) { return test.param.scheme; });

TEST(SourceTable, HasEveryRowTriedHereOrWithADevice) {
  const std::set<std::string_view> with_a_device{"libcamera"};  // tests/e2e runs it with virtual cameras
  for (const SourceRow& row : source_table()) {
    const bool tried =
        std::ranges::any_of(kSubjects, [&](const Subject& subject) { return subject.scheme == row.scheme; });
    EXPECT_TRUE(tried || with_a_device.contains(row.scheme)) << row.scheme;
    EXPECT_TRUE(row.help.starts_with(std::string(row.scheme) + ":")) << row.help;
  }
}

TEST(OpenSource, NamesTheNearestSchemeAndListsAll) {
  SourceOptions options;
  options.spec = "image:/tmp";
  const Error error = open_source(options).error();
  EXPECT_EQ(error.code, ErrorCode::kUsage);
  EXPECT_EQ(error.hint, "did you mean \"images:\"?");
  for (const SourceRow& row : source_table()) EXPECT_NE(error.message.find(row.scheme), std::string::npos);
}

}  // namespace
}  // namespace kinglet::camera
