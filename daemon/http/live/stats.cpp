// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/stats.
#include "daemon/http/live/stats.h"

#include <utility>

#include "camera/frame/mailbox.h"
#include "camera/sources/open_source.h"
#include "daemon/capture/clips/clip_recorder.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/routes/routes.h"
#include "daemon/line/stats.h"
#include "daemon/machine/board.h"
#include "daemon/models/model_board.h"
#include "daemon/mqtt/status.h"
#include "daemon/webhook/status.h"
#include "engine/threads/pool.h"
#include "store/store.h"

namespace kinglet::daemon::http {
namespace {

Json rates(const Stats::View& totals) {
  Json json = Json::object();
  const auto set = [&](const char* name, const std::optional<double>& value) {
    if (value) json[name] = rounded(*value, 2);
  };
  set("now", totals.images_per_second_now);
  set("last_1m", totals.images_per_second_1m);
  set("last_15m", totals.images_per_second_15m);
  return json;
}

Json by_outcome(const Stats::View& totals) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kOutcomeCount; ++i) json[to_string(static_cast<Outcome>(i))] = totals.by_outcome[i];
  return json;
}

Json inferences(const Stats::View& totals) {
  Json left_out = Json::object();
  for (std::size_t i = 0; i < kLeftOutCount; ++i) left_out[to_string(static_cast<LeftOut>(i))] = totals.left_out[i];
  return {{"total", totals.inferences}, {"left_out_total", left_out}};
}

Json detector(const DetectorTotals& totals) {
  Json found = Json::object();
  for (const Being being : {Being::kBird, Being::kAnimal, Being::kPerson}) {
    found[to_string(being)] = totals.found[std::to_underlying(being)];
  }
  return {
      {"looks_total", totals.looks},
      {"left_out_total", totals.left_out},
      {"found_total", found},
      {"regions_total", {{"merged", totals.merged}, {"split", totals.split}, {"tightened", totals.tightened}}},
      {"mean_ms", totals.looks == 0 ? 0 : rounded(to_ms(totals.time).count() / static_cast<double>(totals.looks), 3)}};
}

// Before the gate.
struct Lost {
  std::uint64_t busy = 0;
  std::uint64_t by_source = 0;
};

Json frames(const Stats::View& totals, const Lost& lost) {
  Json skipped = Json::object();
  for (std::size_t i = 0; i < kSkipReasonCount; ++i) skipped[to_string(static_cast<SkipReason>(i))] = totals.skipped[i];
  return {{"captured_total", totals.captured},
          {"skipped_total", skipped},
          {"dropped_total", {{"busy", lost.busy}, {"camera", lost.by_source}, {"error", totals.errors}}}};
}

Json gate_json(const Stats::View& totals) {
  Json json{{"pace", rounded(totals.pace, 4)}};
  if (totals.motion) {
    json["moving"] = totals.motion->moving;
    json["moving_share"] = rounded(totals.motion->share, 4);
  }
  return json;
}

Json suggestion_json(const Suggestion& suggestion) {
  const Area& box = suggestion.box;
  return {{"box_ratio",
           {{"x", rounded(box.left, 4)},
            {"y", rounded(box.top, 4)},
            {"width", rounded(box.width, 4)},
            {"height", rounded(box.height, 4)}}},
          {"tracks", suggestion.tracks},
          {"since", to_rfc3339(suggestion.since)}};
}

Json latency(const RecentDurations::Summary& summary) {
  return {{"window_seconds", 60},
          {"count", summary.count},
          {"mean", rounded(summary.mean_ms, 3)},
          {"p50", rounded(summary.p50_ms, 3)},
          {"p90", rounded(summary.p90_ms, 3)},
          {"p99", rounded(summary.p99_ms, 3)},
          {"max", rounded(summary.max_ms, 3)}};
}

Json stage(const Stats::Stage& stage) {
  return {{"p50", rounded(stage.recent.p50_ms, 3)}, {"p99", rounded(stage.recent.p99_ms, 3)}};
}

Json board_json(const BoardFacts& board) {
  Json json = Json::object();
  if (board.model) json["model"] = *board.model;
  if (board.temperature_celsius) json["temperature_celsius"] = rounded(*board.temperature_celsius, 1);
  if (board.cpu_hz) json["cpu_hz"] = *board.cpu_hz;
  if (board.throttling)
    json["throttling"] = {{"now", board.throttling->now}, {"since_boot", board.throttling->since_boot}};
  return json;
}

Json store_json(const store::StoreStatus& status) {
  Json json{{"state", store::to_string(status.state)}};
  if (!status.note.empty()) json["note"] = status.note;
  json["visits"] = status.visits;
  json["waiting_visits"] = status.waiting_visits;
  json["used_bytes"] = status.used_bytes;
  json["quota_bytes"] = status.quota_bytes;
  json["written_today_bytes"] = status.written_today_bytes;
  json["write_budget_bytes"] = status.write_budget_bytes;
  json["dropped_writes_total"] = status.dropped_writes;
  if (status.moved_aside > 0) json["salvaged_visits_total"] = status.salvaged_visits;
  return json;
}

Json streams_json(const Slots& slots) {
  return {{"sse", slots.taken(SlotKind::kEvents)}, {"mjpeg", slots.taken(SlotKind::kPictures)}};
}

Json mqtt_json(const mqtt::Status& status) {
  Json json{{"state", mqtt::to_string(status.state)},
            {"sent_total", status.sent},
            {"dropped_total", status.dropped},
            {"waiting", status.waiting}};
  if (!status.detail.empty()) json["detail"] = status.detail;
  return json;
}

Json webhook_json(const webhook::Status& status) {
  Json json = Json::object();
  if (!status.detail.empty()) json["detail"] = status.detail;
  json["delivered_total"] = status.delivered;
  json["failed_tries_total"] = status.failed_tries;
  json["dropped_total"] = status.dropped;
  json["waiting"] = status.waiting;
  return json;
}

Json camera_json(const CameraView& view, const CameraStatus& camera, SteadyTime now,
                 const std::optional<double>& frames_per_second) {
  Json json{{"state", to_string(camera.state)}, {"source", view.name}};
  if (!camera.detail.empty()) json["detail"] = camera.detail;
  if (!camera.description.empty()) json["description"] = camera.description;
  json["kind"] = camera::to_string(view.kind());
  json["demonstration"] = view.is_demonstration();
  if (camera.last_frame_at) json["last_frame_age_ms"] = rounded_ms(now - *camera.last_frame_at);
  if (frames_per_second) json["frames_per_second"] = rounded(*frames_per_second, 2);
  json["stalls_total"] = camera.stalls;
  json["restarts_total"] = camera.restarts_after_stall + camera.restarts_after_loss;
  return json;
}

// What is counted of one of several.
Json one_of_several(const CameraView& view, const CameraStatus& camera, SteadyTime now) {
  const Stats::View own = view.stats.view(now);
  Json json = camera_json(view, camera, now, own.frames_per_second);
  json["images_per_second"] = rates(own);
  json["images"] = {{"total", own.predictions}, {"by_outcome", by_outcome(own)}};
  json["inferences"] = inferences(own);
  json["frames"] = frames(own, {view.mailbox.dropped_count(), camera.dropped_by_source});
  json["gate"] = gate_json(own);
  json["latency_ms"] = latency(own.latency.recent);
  if (own.suggestion) json["look"] = {{"suggestion", suggestion_json(*own.suggestion)}};
  return json;
}

Json clips_json(const std::vector<CameraView>& cameras) {
  ClipStatus all;
  for (const CameraView& camera : cameras) {
    if (camera.clips == nullptr) continue;
    const ClipStatus one = camera.clips->status();
    all.bytes += one.bytes;
    all.frames += one.frames;
    all.missed += one.missed;
  }
  return {{"memory_bytes", all.bytes}, {"frames_total", all.frames}, {"missed_total", all.missed}};
}

Json threads_json(int threads, const engine::PoolFacts& workers) {
  return {{"inference", threads},
          {"in_use", workers.alone_now ? 1 : threads},
          {"alone_ratio", rounded(workers.alone_ratio(), 4)}};
}

}  // namespace

Json camera_json(const CameraView& view, const Vitals& vitals, std::size_t index) {
  return camera_json(view, vitals.cameras[index].status, vitals.now, view.stats.view(vitals.now).frames_per_second);
}

Json stats_json(const FiguresView& view) {
  const std::vector<CameraView>& cameras = view.cameras.cameras;
  const Vitals vitals = view.cameras.vitals();
  const Stats::View totals = view.stats.view(vitals.now);
  // What is about a picture is about the first camera's.
  const Stats::View first = cameras.front().stats.view(vitals.now);
  Lost lost;
  for (std::size_t i = 0; i < cameras.size(); ++i) {
    lost.busy += cameras[i].mailbox.dropped_count();
    lost.by_source += vitals.cameras[i].status.dropped_by_source;
  }
  const BoardFacts board = view.board.get(vitals.now);
  Json json{{"at", to_rfc3339(std::chrono::system_clock::now())},
            {"uptime_seconds", rounded(Seconds(totals.uptime).count(), 3)},
            {"images_per_second", rates(totals)},
            {"images", {{"total", totals.predictions}, {"by_outcome", by_outcome(totals)}}},
            {"inferences", inferences(totals)},
            {"frames", frames(totals, lost)},
            {"gate", gate_json(first)},
            {"latency_ms", latency(totals.latency.recent)},
            {"stages_ms",
             {{"wait", stage(totals.wait)},
              {"preprocess", stage(totals.preprocess)},
              {"inference", stage(totals.inference)},
              {"postprocess", stage(totals.postprocess)}}},
            {"camera", camera_json(cameras.front(), vitals, 0)}};
  if (totals.detector.is_asked()) json["detector"] = detector(totals.detector);
  if (cameras.size() > 1) {
    for (std::size_t i = 0; i < cameras.size(); ++i) {
      json["cameras"].push_back(one_of_several(cameras[i], vitals.cameras[i].status, vitals.now));
    }
  }
  if (first.suggestion) json["look"] = {{"suggestion", suggestion_json(*first.suggestion)}};
  if (const auto model = view.models.facts()) json["threads"] = threads_json(model->threads, view.workers());
  Json memory = Json::object();
  if (board.resident_bytes) memory["resident_bytes"] = *board.resident_bytes;
  if (board.peak_bytes) memory["peak_bytes"] = *board.peak_bytes;
  json["memory"] = memory;
  json["board"] = board_json(board);
  json["store"] = store_json(view.store.status());
  if (cameras.front().clips != nullptr) json["clips"] = clips_json(cameras);
  json["streams"] = streams_json(view.long_answers);
  if (const auto status = view.mqtt()) json["mqtt"] = mqtt_json(*status);
  if (const auto status = view.webhook()) json["webhook"] = webhook_json(*status);
  return json;
}

Reply get_stats(const FiguresView& view, const Call& /*call*/) {
  return json_reply(stats_json(view).dump(), "no-store");
}

}  // namespace kinglet::daemon::http
