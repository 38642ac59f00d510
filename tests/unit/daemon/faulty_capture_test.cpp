// SPDX-License-Identifier: Apache-2.0
// Why: the way of a frame from a source that jitters, stalls, bursts and lies to those who read it, with all the
// threads that the daemon has on it. What is wrong costs frames; it never is a wrong frame, a hang or the end.
#include <gtest/gtest.h>

#include "camera/preprocess/preprocess.h"
#include "camera/sources/open_source.h"
#include "daemon/capture/capture.h"
#include "tests/support/faulty_source.h"

namespace kinglet::daemon {
namespace {

using kinglet::testing::Fault;
using std::chrono::milliseconds;

class FaultyCapture : public ::testing::Test {
 protected:
  static inline const CaptureOptions kFast{.stall_after = milliseconds(30),
                                           .restart_after = milliseconds(80),
                                           .first_backoff = milliseconds(5),
                                           .last_backoff = milliseconds(20),
                                           .healthy_after = milliseconds(50)};

  void TearDown() override {
    capture_.stop();
    reader_.request_stop();
    mailbox_.close();
  }

  [[nodiscard]] Result<std::unique_ptr<camera::FrameSource>> open() {
    return std::make_unique<kinglet::testing::FaultySource>(
        KINGLET_TRY(camera::open_source({.spec = "demo:?fps=300", .width = 64, .height = 64})), faults_);
  }

  // As the answer thread: whatever passes its check can be read, with the size that it says.
  void read(const std::stop_token& stop) {
    engine::Recipe recipe;
    camera::Preprocessor preprocessor(recipe, 16, 16);
    std::vector<std::byte> input(16 * 16 * 3 * sizeof(float));
    while (!stop.stop_requested()) {
      const auto frame = mailbox_.take(SteadyClock::now() + milliseconds(50));
      if (!frame) continue;
      const auto ready = preprocessor.run(frame->view(), std::nullopt, {.bytes = input, .width = 16, .height = 16});
      if (ready.has_value() != check_view(frame->view()).has_value()) ++contradictions_;
      ++(ready ? read_ : refused_);
      if (ready && frame->view().width == 32) ++small_;
    }
  }

  template <typename Condition>
  [[nodiscard]] bool comes_true(Condition condition) {
    const SteadyTime deadline = SteadyClock::now() + std::chrono::seconds(30);  // only a failing test takes that long
    while (SteadyClock::now() < deadline) {
      if (condition()) return true;
      (void)snapshots_.get(0);  // as somebody who watches the page
      std::this_thread::sleep_for(milliseconds(1));
    }
    return false;
  }
  [[nodiscard]] CameraStatus status() const { return capture_.status(SteadyClock::now()); }
  // Another hundred good frames are read.
  [[nodiscard]] bool works() {
    const std::uint64_t before = read_;
    return comes_true([&] { return read_ > before + 100 && status().state == CameraState::kStreaming; });
  }

  const std::shared_ptr<kinglet::testing::FaultSwitch> faults_ = std::make_shared<kinglet::testing::FaultSwitch>();
  camera::Mailbox mailbox_;
  SnapshotBoard snapshots_;
  Stats stats_{SteadyClock::now()};
  std::atomic<std::uint64_t> read_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> small_ = 0;
  std::atomic<std::uint64_t> contradictions_ = 0;
  Capture capture_{[this] { return open(); }, kFast, mailbox_, snapshots_, stats_, {}};
  std::jthread reader_{[this](const std::stop_token& stop) { read(stop); }};
};

TEST_F(FaultyCapture, ComesThroughEveryFaultInTurn) {
  capture_.start();
  ASSERT_TRUE(works());
  for (const Fault fault : {Fault::kJitter, Fault::kBurst}) {
    faults_->set(fault);
    EXPECT_TRUE(comes_true([&, before = read_.load()] { return read_ > before + 30; }));
  }
  faults_->set(Fault::kTruncated);
  EXPECT_TRUE(comes_true([&, before = refused_.load()] { return refused_ > before + 5; }));
  faults_->set(Fault::kGarbage);
  EXPECT_TRUE(comes_true([&, before = refused_.load()] { return refused_ > before + 5; }));
  faults_->set(Fault::kStall);
  EXPECT_TRUE(comes_true([&] { return status().stalls >= 2 && status().restarts_after_stall >= 2; }));
  EXPECT_NE(status().state, CameraState::kStreaming);
  EXPECT_FALSE(status().detail.empty());
  faults_->set(Fault::kDisconnect);
  // Drawn frames make no camera that once worked.
  EXPECT_TRUE(comes_true([&] { return status().state == CameraState::kAbsent; }));
  faults_->set(Fault::kNone);
  EXPECT_TRUE(works());
  EXPECT_EQ(contradictions_, 0U);
}

TEST_F(FaultyCapture, FollowsASizeThatChangesWithEveryFrame) {
  faults_->set(Fault::kResize);
  capture_.start();
  EXPECT_TRUE(comes_true([&] { return small_ > 50 && read_ - small_ > 50; }));
  EXPECT_EQ(refused_, 0U);
  EXPECT_TRUE(comes_true([&] { return status().state == CameraState::kStreaming; }));
  EXPECT_EQ(contradictions_, 0U);
}

TEST_F(FaultyCapture, RefusesFramesThatAreNotWhatTheySay) {
  faults_->set(Fault::kLie);
  capture_.start();
  EXPECT_TRUE(comes_true([&] { return refused_ > 20; }));
  faults_->set(Fault::kNone);
  EXPECT_TRUE(works());
}

TEST_F(FaultyCapture, UnpluggedAndPluggedInAgainAndAgain) {
  capture_.start();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(works());
    faults_->set(Fault::kDisconnect);
    ASSERT_TRUE(comes_true([&] { return status().detail.contains("the camera is gone"); })) << status().detail;
    faults_->set(Fault::kNone);
  }
  EXPECT_TRUE(works());
  EXPECT_GE(status().restarts_after_loss, 5U);
}

}  // namespace
}  // namespace kinglet::daemon
