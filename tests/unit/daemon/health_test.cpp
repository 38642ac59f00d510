// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/health.h"

#include <gtest/gtest.h>

#include "daemon/app/watchdog.h"

namespace kinglet::daemon {
namespace {

using std::chrono::seconds;

const SteadyTime kNow{std::chrono::hours(1)};

Vitals well() {
  Vitals vitals{.now = kNow, .answer_heartbeat = kNow, .model_loaded = true};
  vitals.camera.state = CameraState::kStreaming;
  vitals.camera.heartbeat = kNow;
  vitals.camera.turn_by = kNow + kDeadAfter;
  vitals.camera.sign_by = kNow + seconds(2);
  vitals.camera.last_frame_at = kNow;
  return vitals;
}

TEST(Health, AllIsWellWhenFramesMove) {
  EXPECT_EQ(worst(liveness(well())), CheckStatus::kPass);
  EXPECT_EQ(worst(readiness(well())), CheckStatus::kPass);
  EXPECT_TRUE(frames_move_or_are_known_absent(well()));
}

TEST(Health, AStalledCameraIsNotReadyAndStarvesTheWatchdog) {
  Vitals vitals = well();
  vitals.camera.state = CameraState::kStalled;
  vitals.camera.detail = "no frame for 3.0 s";
  vitals.camera.sign_by = kNow - seconds(1);
  EXPECT_EQ(readiness(vitals)[1].detail, "stalled: no frame for 3.0 s");
  EXPECT_EQ(worst(liveness(vitals)), CheckStatus::kPass);
  EXPECT_FALSE(frames_move_or_are_known_absent(vitals));
}

TEST(Health, AnAbsentCameraIsNotReadyButKnown) {
  Vitals vitals = well();
  vitals.camera.state = CameraState::kAbsent;
  EXPECT_EQ(worst(readiness(vitals)), CheckStatus::kFail);
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals));
}

TEST(Health, APausedCameraIsReadyAndKnown) {
  Vitals vitals = well();
  vitals.camera.state = CameraState::kPaused;
  EXPECT_EQ(worst(readiness(vitals)), CheckStatus::kPass);
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals));
}

TEST(Health, FramesWithoutAnswersStarveTheWatchdog) {
  Vitals vitals = well();
  vitals.unanswered_since = kNow - seconds(11);
  EXPECT_FALSE(frames_move_or_are_known_absent(vitals));
}

TEST(Health, WithoutAModelFramesAreEnough) {
  Vitals vitals = well();
  vitals.model_loaded = false;
  vitals.model_problem = "bird.onnx: not there";
  vitals.unanswered_since = kNow - seconds(11);
  EXPECT_EQ(readiness(vitals)[0].detail, "bird.onnx: not there");
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals));
}

TEST(Health, ADeadThreadIsNotAlive) {
  Vitals vitals = well();
  vitals.answer_heartbeat = kNow - seconds(31);
  EXPECT_EQ(worst(liveness(vitals)), CheckStatus::kFail);
  EXPECT_FALSE(frames_move_or_are_known_absent(vitals));
  vitals = well();
  vitals.camera.state = CameraState::kAbsent;
  vitals.camera.sign_by = SteadyTime::max();
  vitals.camera.turn_by = kNow - seconds(1);
  EXPECT_EQ(liveness(vitals)[0].status, CheckStatus::kFail);
  EXPECT_FALSE(frames_move_or_are_known_absent(vitals)) << "the thread that knew it is dead";
}

TEST(Health, AThreadBesideTheLineThatHangsIsNotAliveUnlessItIsADiskThatDoes) {
  Vitals vitals = well();
  vitals.late = {{.name = "events", .last_sign = kNow - seconds(40)}};
  EXPECT_EQ(liveness(vitals).back().name, "events");
  EXPECT_EQ(liveness(vitals).back().detail, "no sign of life for 40 s");
  EXPECT_EQ(worst(liveness(vitals)), CheckStatus::kFail);
  EXPECT_FALSE(frames_move_or_are_known_absent(vitals));
  vitals.late.front().waits_for_disk = true;
  EXPECT_EQ(liveness(vitals).back().detail, "no sign of life for 40 s: the disk hangs or is very slow");
  EXPECT_EQ(worst(liveness(vitals)), CheckStatus::kWarn);
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals));
}

TEST(Watchdog, IsFedOnceASecondWhileFramesMove) {
  std::vector<std::string> sent;
  Watchdog watchdog([&](const std::string& state) { sent.push_back(state); });
  watchdog.ready();
  Vitals vitals = well();
  for (int i = 0; i < 10; ++i) {
    vitals.now = kNow + i * std::chrono::milliseconds(200);
    watchdog.look(vitals, "camera streaming");
  }
  EXPECT_EQ(sent, (std::vector<std::string>{"READY=1", "STATUS=camera streaming", "WATCHDOG=1", "WATCHDOG=1"}));
}

TEST(Watchdog, IsNotFedByAStalledCamera) {
  std::vector<std::string> sent;
  Watchdog watchdog([&](const std::string& state) { sent.push_back(state); });
  Vitals vitals = well();
  vitals.camera.state = CameraState::kStalled;
  vitals.camera.sign_by = kNow - seconds(1);
  watchdog.look(vitals, "camera stalled");
  EXPECT_EQ(sent, std::vector<std::string>{"STATUS=camera stalled"});
}

}  // namespace
}  // namespace kinglet::daemon
