// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/health.h"

#include <algorithm>

#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

std::string silence(SteadyTime now, SteadyTime last_sign) {
  return format_text("no sign of life for {:.0f} s", Seconds(now - last_sign).count());
}

WallTime wall_time(SteadyTime now, SteadyTime then) {
  return std::chrono::system_clock::now() - std::chrono::duration_cast<WallTime::duration>(now - then);
}

Check late_check(SteadyTime now, const LateThread& late) {
  return {.name = late.name,
          .status = late.waits_for_disk ? CheckStatus::kWarn : CheckStatus::kFail,
          .detail = silence(now, late.last_sign) + (late.waits_for_disk ? ": the disk hangs or is very slow" : ""),
          .since = wall_time(now, late.last_sign)};
}

Check thread_check(std::string name, SteadyTime now, SteadyTime heartbeat, SteadyTime turn_by) {
  Check check{.name = std::move(name)};
  if (now > turn_by) {
    check.status = CheckStatus::kFail;
    check.detail = silence(now, heartbeat);
    check.since = wall_time(now, heartbeat);
  }
  return check;
}

// Do its frames come, and are they looked at?
bool moves(const Vitals& vitals, const CameraVitals& camera) {
  const bool answered = !camera.unanswered_since || vitals.now - *camera.unanswered_since <= kAnsweredWithin;
  return vitals.now <= camera.status.sign_by && (!vitals.model_loaded || answered);
}

bool another_gives_frames(const Vitals& vitals, const CameraVitals& camera) {
  return std::ranges::any_of(vitals.cameras, [&](const CameraVitals& other) {
    return &other != &camera && gives_frames(other.status.state) && vitals.now <= other.status.turn_by &&
           moves(vitals, other);
  });
}

std::string check_name(std::string_view what, const Vitals& vitals, const CameraVitals& camera) {
  return &camera == &vitals.cameras.front() ? std::string(what) : format_text("{}_{}", what, camera.name);
}

Check camera_check(const Vitals& vitals, const CameraVitals& camera) {
  const CameraStatus& status = camera.status;
  Check check{.name = check_name("camera", vitals, camera), .since = status.since};
  if (gives_frames(status.state)) return check;
  check.status = another_gives_frames(vitals, camera) ? CheckStatus::kWarn : CheckStatus::kFail;
  if (vitals.cameras.size() > 1) check.detail = camera.name + ": ";
  check.detail += to_string(status.state);
  if (!status.detail.empty()) check.detail += ": " + status.detail;
  return check;
}

}  // namespace

std::string spoken_name(const Vitals& vitals, const CameraVitals& camera) {
  return vitals.cameras.size() > 1 ? "camera " + camera.name : "camera";
}

bool gives_frames(CameraState state) { return state == CameraState::kStreaming || state == CameraState::kPaused; }

std::vector<Check> liveness(const Vitals& vitals) {
  std::vector<Check> checks;
  for (const CameraVitals& camera : vitals.cameras) {
    checks.push_back(thread_check(check_name("capture", vitals, camera), vitals.now, camera.status.heartbeat,
                                  camera.status.turn_by));
    Check& check = checks.back();
    if (check.status == CheckStatus::kFail && another_gives_frames(vitals, camera)) check.status = CheckStatus::kWarn;
  }
  checks.push_back(thread_check("answer", vitals.now, vitals.answer_heartbeat, vitals.answer_heartbeat + kDeadAfter));
  for (const LateThread& late : vitals.late) checks.push_back(late_check(vitals.now, late));
  return checks;
}

std::vector<Check> readiness(const Vitals& vitals) {
  Check model{.name = "model", .since = vitals.model_since};
  if (!vitals.model_loaded) {
    model.status = CheckStatus::kFail;
    model.detail = vitals.model_problem;
  }
  // Visits that wait or live in memory are worth a look, but everything else goes on.
  Check store{.name = "store", .detail = vitals.store.note, .since = vitals.store.since};
  if (vitals.store.state != store::StoreState::kDisk && !vitals.store.memory_is_wanted)
    store.status = CheckStatus::kWarn;
  std::vector<Check> checks{std::move(model)};
  if (vitals.detector_problem) {
    const bool works = vitals.detector_problem->empty();
    checks.push_back({.name = "detector",
                      .status = works ? CheckStatus::kPass : CheckStatus::kWarn,
                      .detail = works ? "" : "left out: " + *vitals.detector_problem,
                      .since = vitals.model_since});
  }
  for (const CameraVitals& camera : vitals.cameras) checks.push_back(camera_check(vitals, camera));
  checks.push_back(std::move(store));
  checks.insert(checks.end(), vitals.integrations.begin(), vitals.integrations.end());
  if (vitals.restore_waits) {
    checks.push_back(
        {.name = "restore",
         .status = CheckStatus::kWarn,
         .detail = "a backup waits: the next start puts it in the place of history, pictures and settings"});
  }
  return checks;
}

CheckStatus worst(const std::vector<Check>& checks) {
  CheckStatus status = CheckStatus::kPass;
  for (const Check& check : checks) status = std::max(status, check.status);
  return status;
}

bool frames_move_or_are_known_absent(const Vitals& vitals) {
  if (worst(liveness(vitals)) == CheckStatus::kFail) return false;
  return std::ranges::all_of(vitals.cameras, [&](const CameraVitals& camera) {
    return moves(vitals, camera) || another_gives_frames(vitals, camera);
  });
}

}  // namespace kinglet::daemon
