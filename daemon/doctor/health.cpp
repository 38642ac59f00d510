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

}  // namespace

std::vector<Check> liveness(const Vitals& vitals) {
  std::vector<Check> checks{
      thread_check("capture", vitals.now, vitals.camera.heartbeat, vitals.camera.turn_by),
      thread_check("answer", vitals.now, vitals.answer_heartbeat, vitals.answer_heartbeat + kDeadAfter)};
  for (const LateThread& late : vitals.late) checks.push_back(late_check(vitals.now, late));
  return checks;
}

std::vector<Check> readiness(const Vitals& vitals) {
  Check model{.name = "model", .since = vitals.model_since};
  if (!vitals.model_loaded) {
    model.status = CheckStatus::kFail;
    model.detail = vitals.model_problem;
  }
  Check camera{.name = "camera", .since = vitals.camera.since};
  const CameraState state = vitals.camera.state;
  if (state != CameraState::kStreaming && state != CameraState::kPaused) {
    camera.status = CheckStatus::kFail;
    camera.detail = std::string(to_string(state));
    if (!vitals.camera.detail.empty()) camera.detail += ": " + vitals.camera.detail;
  }
  // Visits that wait or live in memory are worth a look, but everything else goes on.
  Check store{.name = "store", .detail = vitals.store.note, .since = vitals.store.since};
  if (vitals.store.state != store::StoreState::kDisk && !vitals.store.memory_is_wanted)
    store.status = CheckStatus::kWarn;
  std::vector<Check> checks{std::move(model), std::move(camera), std::move(store)};
  checks.insert(checks.end(), vitals.integrations.begin(), vitals.integrations.end());
  return checks;
}

CheckStatus worst(const std::vector<Check>& checks) {
  CheckStatus status = CheckStatus::kPass;
  for (const Check& check : checks) status = std::max(status, check.status);
  return status;
}

bool frames_move_or_are_known_absent(const Vitals& vitals) {
  if (worst(liveness(vitals)) == CheckStatus::kFail) return false;
  const bool answered = !vitals.unanswered_since || vitals.now - *vitals.unanswered_since <= kAnsweredWithin;
  return vitals.now <= vitals.camera.sign_by && (!vitals.model_loaded || answered);
}

}  // namespace kinglet::daemon
