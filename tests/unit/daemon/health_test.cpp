// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/health.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/app/status_line.h"
#include "daemon/app/watchdog.h"

namespace kinglet::daemon {
namespace {

using std::chrono::seconds;

const SteadyTime kNow{std::chrono::hours(1)};

Vitals well() {
  Vitals vitals{.now = kNow, .answer_heartbeat = kNow, .model_loaded = true};
  vitals.cameras[0].status.state = CameraState::kStreaming;
  vitals.cameras[0].status.heartbeat = kNow;
  vitals.cameras[0].status.turn_by = kNow + kDeadAfter;
  vitals.cameras[0].status.sign_by = kNow + seconds(2);
  vitals.cameras[0].status.last_frame_at = kNow;
  return vitals;
}

TEST(Health, AllIsWellWhenFramesMove) {
  EXPECT_EQ(worst(liveness(well())), CheckStatus::kPass);
  EXPECT_EQ(worst(readiness(well())), CheckStatus::kPass);
  EXPECT_TRUE(frames_move_or_are_known_absent(well()));
}

TEST(Health, ADetectorThatIsLeftOutIsAWarningAndNoMore) {
  Vitals vitals = well();
  vitals.detector_problem = "";
  EXPECT_EQ(worst(readiness(vitals)), CheckStatus::kPass);
  vitals.detector_problem = "d.onnx: no such file";
  EXPECT_EQ(readiness(vitals)[1].name, "detector");
  EXPECT_EQ(readiness(vitals)[1].detail, "left out: d.onnx: no such file");
  EXPECT_EQ(worst(readiness(vitals)), CheckStatus::kWarn);
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals));
}

TEST(Health, ABackupThatWaitsForTheNextStartIsAWarning) {
  Vitals vitals = well();
  vitals.restore_waits = true;
  EXPECT_EQ(readiness(vitals).back().name, "restore");
  EXPECT_EQ(worst(readiness(vitals)), CheckStatus::kWarn);
}

TEST(Health, AStalledCameraIsNotReadyAndStarvesTheWatchdog) {
  Vitals vitals = well();
  vitals.cameras[0].status.state = CameraState::kStalled;
  vitals.cameras[0].status.detail = "no frame for 3.0 s";
  vitals.cameras[0].status.sign_by = kNow - seconds(1);
  EXPECT_EQ(readiness(vitals)[1].detail, "stalled: no frame for 3.0 s");
  EXPECT_EQ(worst(liveness(vitals)), CheckStatus::kPass);
  EXPECT_FALSE(frames_move_or_are_known_absent(vitals));
}

TEST(Health, AnAbsentCameraIsNotReadyButKnown) {
  Vitals vitals = well();
  vitals.cameras[0].status.state = CameraState::kAbsent;
  EXPECT_EQ(worst(readiness(vitals)), CheckStatus::kFail);
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals));
}

TEST(Health, APausedCameraIsReadyAndKnown) {
  Vitals vitals = well();
  vitals.cameras[0].status.state = CameraState::kPaused;
  EXPECT_EQ(worst(readiness(vitals)), CheckStatus::kPass);
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals));
}

TEST(Health, FramesWithoutAnswersStarveTheWatchdog) {
  Vitals vitals = well();
  vitals.cameras[0].unanswered_since = kNow - seconds(11);
  EXPECT_FALSE(frames_move_or_are_known_absent(vitals));
}

TEST(Health, WithoutAModelFramesAreEnough) {
  Vitals vitals = well();
  vitals.model_loaded = false;
  vitals.model_problem = "bird.onnx: not there";
  vitals.cameras[0].unanswered_since = kNow - seconds(11);
  EXPECT_EQ(readiness(vitals)[0].detail, "bird.onnx: not there");
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals));
}

TEST(Health, ADeadThreadIsNotAlive) {
  Vitals vitals = well();
  vitals.answer_heartbeat = kNow - seconds(31);
  EXPECT_EQ(worst(liveness(vitals)), CheckStatus::kFail);
  EXPECT_FALSE(frames_move_or_are_known_absent(vitals));
  vitals = well();
  vitals.cameras[0].status.state = CameraState::kAbsent;
  vitals.cameras[0].status.sign_by = SteadyTime::max();
  vitals.cameras[0].status.turn_by = kNow - seconds(1);
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

// A garden that is well, and a tree beside it.
Vitals with_tree(const CameraStatus& tree) {
  Vitals vitals = well();
  vitals.cameras[0].name = "garden";
  vitals.cameras.push_back({.name = "tree", .status = tree});
  return vitals;
}

const CameraStatus kSilent{.state = CameraState::kStalled,
                           .detail = "no frame for 3.0 s",
                           .heartbeat = kNow,
                           .turn_by = kNow + kDeadAfter,
                           .sign_by = kNow - seconds(1)};
const CameraStatus kLost{.state = CameraState::kRestarting,
                         .heartbeat = kNow - seconds(60),
                         .turn_by = kNow - seconds(1),
                         .sign_by = kNow - seconds(1)};

CheckStatus of(const std::vector<Check>& checks, std::string_view name) {
  const auto found = std::ranges::find(checks, name, &Check::name);
  EXPECT_NE(found, checks.end()) << name;
  return found->status;
}

TEST(SeveralCameras, OneThatIsSilentOrLostIsNamedAndCostsTheOtherNothing) {
  Vitals vitals = with_tree(kSilent);
  EXPECT_EQ(of(readiness(vitals), "camera"), CheckStatus::kPass);
  EXPECT_EQ(of(readiness(vitals), "camera_tree"), CheckStatus::kWarn);
  EXPECT_EQ(readiness(vitals)[2].detail, "tree: stalled: no frame for 3.0 s");
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals));
  vitals = with_tree(kLost);
  EXPECT_EQ(of(liveness(vitals), "capture"), CheckStatus::kPass);
  EXPECT_EQ(of(liveness(vitals), "capture_tree"), CheckStatus::kWarn);
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals));
}

// As with one camera: where nobody loses anything by a restart, it may be the cure.
TEST(SeveralCameras, WhereNoneGivesFramesItIsAsWithOne) {
  Vitals vitals = with_tree(kSilent);
  vitals.cameras[0].status.state = CameraState::kAbsent;
  vitals.cameras[0].status.sign_by = SteadyTime::max();
  EXPECT_EQ(of(readiness(vitals), "camera"), CheckStatus::kFail);
  EXPECT_EQ(of(readiness(vitals), "camera_tree"), CheckStatus::kFail);
  EXPECT_FALSE(frames_move_or_are_known_absent(vitals));
  vitals.cameras[1].status = kLost;
  EXPECT_EQ(of(liveness(vitals), "capture_tree"), CheckStatus::kFail);
  vitals.cameras[1].status = vitals.cameras[0].status;
  vitals.cameras[1].status.turn_by = kNow + kDeadAfter;
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals)) << "it is known why";
}

TEST(SeveralCameras, AnAnswerThreadThatHangsHangsForAll) {
  Vitals vitals = with_tree(well().cameras[0].status);
  for (CameraVitals& camera : vitals.cameras) camera.unanswered_since = kNow - seconds(11);
  EXPECT_FALSE(frames_move_or_are_known_absent(vitals));
  vitals.cameras[0].unanswered_since.reset();
  EXPECT_TRUE(frames_move_or_are_known_absent(vitals)) << "only the tree's frames cannot be read";
}

TEST(SeveralCameras, TheServiceManagerIsToldOfEach) {
  EXPECT_EQ(service_status(with_tree(kSilent)), "camera garden streaming; camera tree stalled");
  EXPECT_EQ(service_status(well()), "camera streaming");
}

TEST(SeveralCameras, TheStatusLineNamesThoseThatGiveNothing) {
  const Stats::View none;
  const ModelFacts model;
  EXPECT_EQ(status_line(with_tree(kSilent), none, {}, &model),
            "waiting for the first prediction · camera tree stalled: no frame for 3.0 s");
  Vitals vitals = with_tree(kSilent);
  vitals.cameras[0].status.state = CameraState::kAbsent;
  EXPECT_EQ(status_line(vitals, none, {}, &model), "camera garden absent · camera tree stalled: no frame for 3.0 s");
}

TEST(Watchdog, IsNotFedByAStalledCamera) {
  std::vector<std::string> sent;
  Watchdog watchdog([&](const std::string& state) { sent.push_back(state); });
  Vitals vitals = well();
  vitals.cameras[0].status.state = CameraState::kStalled;
  vitals.cameras[0].status.sign_by = kNow - seconds(1);
  watchdog.look(vitals, "camera stalled");
  EXPECT_EQ(sent, std::vector<std::string>{"STATUS=camera stalled"});
}

}  // namespace
}  // namespace kinglet::daemon
