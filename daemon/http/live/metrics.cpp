// SPDX-License-Identifier: Apache-2.0
// Why: GET /metrics: what the parts count, as Prometheus reads it.
#include <algorithm>
#include <array>

#include "camera/frame/mailbox.h"
#include "daemon/doctor/health.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/figures/traffic.h"
#include "daemon/http/routes/routes.h"
#include "daemon/http/routes/views.h"
#include "daemon/line/stats.h"
#include "daemon/machine/board.h"
#include "daemon/machine/build_info.h"
#include "daemon/machine/clock_sync.h"
#include "daemon/metrics/exposition.h"
#include "daemon/models/model_board.h"
#include "daemon/mqtt/status.h"
#include "daemon/notify/status.h"
#include "daemon/webhook/status.h"
#include "engine/base/local_time.h"
#include "store/store.h"

namespace kinglet::daemon::http {
namespace {

using metrics::Exposition;
using metrics::Metric;

double unix_seconds(WallTime time) { return Seconds(time.time_since_epoch()).count(); }

void add_info(Exposition& out, const FiguresView& view) {
  const BuildInfo& info = build_info();
  out.sample(Metric::kBuildInfo, {{"version", info.version}, {"commit", info.commit}, {"xnnpack", info.xnnpack}},
             std::uint64_t{1});
  if (const auto model = view.models.facts()) {
    out.sample(Metric::kModelInfo,
               {{"name", model->name}, {"digest", model->digest}, {"opset", std::to_string(model->metadata.opset)}},
               std::uint64_t{1});
  }
}

// The history's, not this process's: it outlives a restart, and its day ends at midnight.
void add_visits_today(Exposition& out, store::Store& store) {
  const auto zone = TimeZone::find(store.zone_name());
  const std::string today = zone.value_or(TimeZone()).local_hour(std::chrono::system_clock::now()).day;
  const auto days = store.days(today, today);
  if (days) out.sample(Metric::kVisitsToday, {}, days->empty() ? std::uint64_t{0} : days->front().visits);
}

// All samples of one series come one after the other: a series, and in it the cameras.
void add_cameras_frames(Exposition& out, const FiguresView& view, const Vitals& vitals) {
  const std::vector<CameraView>& cameras = view.cameras.cameras;
  std::vector<Stats::View> own;
  for (const CameraView& camera : cameras) own.push_back(camera.stats.view(vitals.now));
  for (std::size_t at = 0; at < cameras.size(); ++at) {
    const auto frames = [&](std::string_view outcome, std::uint64_t count) {
      out.sample(Metric::kFrames, {{"source", cameras[at].name}, {"outcome", outcome}}, count);
    };
    frames("classified", own[at].predictions);
    for (std::size_t i = 0; i < kSkipReasonCount; ++i) {
      frames(to_string(static_cast<SkipReason>(i)), own[at].skipped[i]);
    }
    frames("busy", cameras[at].mailbox.dropped_count());
    frames("camera", vitals.cameras[at].status.dropped_by_source);
    frames("error", own[at].errors);
  }
  for (std::size_t at = 0; at < cameras.size(); ++at) {
    if (!own[at].motion) continue;
    // The only camera's has no label.
    if (cameras.size() == 1) {
      out.sample(Metric::kMoving, {}, own[at].motion->share);
    } else {
      out.sample(Metric::kMoving, {{"source", cameras[at].name}}, own[at].motion->share);
    }
  }
  out.sample(Metric::kPace, {}, own.front().pace);
}

void add_detector(Exposition& out, const DetectorTotals& totals) {
  if (!totals.is_asked()) return;
  out.sample(Metric::kDetectorLooks, {{"outcome", "done"}}, totals.looks);
  out.sample(Metric::kDetectorLooks, {{"outcome", "left_out"}}, totals.left_out);
  for (const Being being : {Being::kBird, Being::kAnimal, Being::kPerson}) {
    out.sample(Metric::kDetectorFound, {{"being", to_string(being)}}, totals.found[std::to_underlying(being)]);
  }
  out.sample(Metric::kDetectorSeconds, {}, Seconds(totals.time).count());
}

void add_frames(Exposition& out, const FiguresView& view, const Stats::View& totals, const Vitals& vitals) {
  add_cameras_frames(out, view, vitals);
  for (std::size_t i = 0; i < kOutcomeCount; ++i) {
    out.sample(Metric::kPredictions, {{"outcome", to_string(static_cast<Outcome>(i))}}, totals.by_outcome[i]);
  }
  out.sample(Metric::kInferences, {}, totals.inferences);
  for (std::size_t i = 0; i < kLeftOutCount; ++i) {
    out.sample(Metric::kRegionsLeftOut, {{"reason", to_string(static_cast<LeftOut>(i))}}, totals.left_out[i]);
  }
  add_detector(out, totals.detector);
  if (vitals.detector_problem) out.sample(Metric::kDetectorWorks, {}, std::uint64_t{vitals.detector_problem->empty()});
  out.sample(Metric::kVisits, {}, totals.visits);
  add_visits_today(out, view.store);
  out.histogram(Metric::kInferenceDuration, {}, totals.inference.lifetime);
  out.histogram(Metric::kStageDuration, {{"stage", "wait"}}, totals.wait.lifetime);
  out.histogram(Metric::kStageDuration, {{"stage", "preprocess"}}, totals.preprocess.lifetime);
  out.histogram(Metric::kStageDuration, {{"stage", "inference"}}, totals.inference.lifetime);
  out.histogram(Metric::kStageDuration, {{"stage", "postprocess"}}, totals.postprocess.lifetime);
  out.histogram(Metric::kFrameAge, {}, totals.latency.lifetime);
}

void add_cameras(Exposition& out, const FiguresView& view, const Vitals& vitals) {
  const auto each = [&](const auto& add) {
    for (std::size_t i = 0; i < view.cameras.cameras.size(); ++i) {
      add(std::string_view(view.cameras.cameras[i].name), vitals.cameras[i].status);
    }
  };
  each([&](std::string_view source, const CameraStatus& camera) {
    out.sample(Metric::kCameraUp, {{"source", source}}, std::uint64_t{camera.state == CameraState::kStreaming});
  });
  each([&](std::string_view source, const CameraStatus& camera) {
    for (const CameraState state :
         {CameraState::kStarting, CameraState::kStreaming, CameraState::kStalled, CameraState::kRestarting,
          CameraState::kAbsent, CameraState::kFailed, CameraState::kPaused}) {
      out.sample(Metric::kCameraState, {{"source", source}, {"state", to_string(state)}},
                 std::uint64_t{camera.state == state});
    }
  });
  each([&](std::string_view source, const CameraStatus& camera) {
    out.sample(Metric::kCameraStalls, {{"source", source}}, camera.stalls);
  });
  each([&](std::string_view source, const CameraStatus& camera) {
    out.sample(Metric::kCameraRestarts, {{"source", source}, {"reason", "stall"}}, camera.restarts_after_stall);
    out.sample(Metric::kCameraRestarts, {{"source", source}, {"reason", "lost"}}, camera.restarts_after_loss);
  });
  each([&](std::string_view source, const CameraStatus& camera) {
    if (!camera.last_frame_at) return;
    const double age = Seconds(vitals.now - *camera.last_frame_at).count();
    out.sample(Metric::kCameraLastFrame, {{"source", source}}, unix_seconds(std::chrono::system_clock::now()) - age);
  });
}

void add_store(Exposition& out, const store::StoreStatus& status) {
  out.sample(Metric::kStoreBytes, {}, status.used_bytes);
  out.sample(Metric::kStoreQuota, {}, status.quota_bytes);
  out.sample(Metric::kStoreWritten, {}, status.written_bytes);
  out.sample(Metric::kStoreDropped, {}, status.dropped_writes);
}

void add_traffic(Exposition& out, const Traffic::View& traffic) {
  for (const auto& [key, count] : traffic.requests) {
    const auto& [route, method, code] = key;
    out.sample(Metric::kHttpRequests, {{"route", route}, {"method", method}, {"code", std::to_string(code)}}, count);
  }
  for (const auto& [route, durations] : traffic.durations)
    out.histogram(Metric::kHttpDuration, {{"route", route}}, durations);
}

void add_integrations(Exposition& out, const FiguresView& view) {
  if (const auto status = view.mqtt()) {
    out.sample(Metric::kMqttUp, {}, std::uint64_t{status->state == mqtt::LinkState::kConnected});
    out.sample(Metric::kMqttSent, {}, status->sent);
    out.sample(Metric::kMqttDropped, {}, status->dropped);
  }
  if (const auto status = view.webhook()) {
    out.sample(Metric::kWebhook, {{"outcome", "delivered"}}, status->delivered);
    out.sample(Metric::kWebhook, {{"outcome", "failed"}}, status->failed_tries);
    out.sample(Metric::kWebhook, {{"outcome", "dropped"}}, status->dropped);
  }
  if (const auto services = view.notify(); !services.empty()) {
    notify::Status all;
    for (const notify::Status& one : services) {
      all.sent += one.sent;
      all.failed_tries += one.failed_tries;
      all.dropped += one.dropped;
      all.held_back += one.held_back;
    }
    out.sample(Metric::kNotify, {{"outcome", "sent"}}, all.sent);
    out.sample(Metric::kNotify, {{"outcome", "failed"}}, all.failed_tries);
    out.sample(Metric::kNotify, {{"outcome", "dropped"}}, all.dropped);
    out.sample(Metric::kNotify, {{"outcome", "held_back"}}, all.held_back);
  }
}

void add_machine(Exposition& out, SteadyClock::duration uptime, bool reload_failed) {
  const BoardFacts board = read_board();
  if (board.temperature_celsius) out.sample(Metric::kTemperature, {{"sensor", "cpu"}}, *board.temperature_celsius);
  if (board.throttling) {
    const std::vector<std::string>& now = board.throttling->now;
    for (const std::string& reason : parse_throttled(0xF).now) {
      out.sample(Metric::kThrottled, {{"reason", reason}}, std::uint64_t{std::ranges::contains(now, reason)});
    }
  }
  out.sample(Metric::kReloadFailed, {}, std::uint64_t{reload_failed});
  out.sample(Metric::kClockSynced, {}, std::uint64_t{clock_is_synced()});
  if (board.cpu_seconds) out.sample(Metric::kProcessCpu, {}, *board.cpu_seconds);
  if (board.resident_bytes) out.sample(Metric::kProcessMemory, {}, *board.resident_bytes);
  if (board.open_files) out.sample(Metric::kProcessFiles, {}, *board.open_files);
  out.sample(Metric::kProcessStart, {}, unix_seconds(std::chrono::system_clock::now()) - Seconds(uptime).count());
}

}  // namespace

Reply get_metrics(const FiguresView& view, const Call& call) {
  const bool open_metrics = call.accept.find("application/openmetrics-text") != std::string::npos;
  Exposition out(open_metrics ? metrics::Format::kOpenMetrics : metrics::Format::kPrometheus);
  const Vitals vitals = view.cameras.vitals();
  const Stats::View totals = view.stats.view(vitals.now);
  add_info(out, view);
  add_frames(out, view, totals, vitals);
  add_cameras(out, view, vitals);
  add_store(out, vitals.store);
  add_traffic(out, view.traffic.view());
  out.sample(Metric::kHttpStreams, {{"kind", "sse"}}, std::uint64_t{view.long_answers.taken(SlotKind::kEvents)});
  out.sample(Metric::kHttpStreams, {{"kind", "mjpeg"}}, std::uint64_t{view.long_answers.taken(SlotKind::kPictures)});
  add_integrations(out, view);
  add_machine(out, totals.uptime, totals.reload_failed);
  return {.content_type = open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                       : "text/plain; version=0.0.4; charset=utf-8",
          .body = out.finish(),
          .headers = {{"Cache-Control", "no-store"}}};
}

}  // namespace kinglet::daemon::http
