// SPDX-License-Identifier: Apache-2.0
// Why: what handlers may reach, made once by app.cpp. Nothing here runs the model or touches the camera.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "camera/frame/mailbox.h"
#include "camera/source/source.h"
#include "camera/sources/open_source.h"
#include "daemon/answer/classify_desk.h"
#include "daemon/answer/latest.h"
#include "daemon/capture/clip_recorder.h"
#include "daemon/capture/frame_samples.h"
#include "daemon/capture/snapshot.h"
#include "daemon/doctor/doctor.h"
#include "daemon/doctor/health.h"
#include "daemon/doctor/log_book.h"
#include "daemon/http/figures/inference_figures.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/figures/traffic.h"
#include "daemon/http/routes/setting.h"
#include "daemon/line/line_model.h"
#include "daemon/line/stats.h"
#include "daemon/machine/board.h"
#include "daemon/models/model_board.h"
#include "daemon/models/trial.h"
#include "daemon/mqtt/status.h"
#include "daemon/webhook/status.h"
#include "engine/base/log.h"
#include "store/store.h"
#include "visits/book.h"
#include "visits/ids.h"

namespace kinglet::daemon {
class ModelKeeper;
}

namespace kinglet::daemon::http {

class Door;
class EventFeed;

// Everything referred to outlives the server and is thread-safe.
struct Context {
  std::string source_name = "camera";  // of the first source, in answers and metrics
  std::function<bool()> source_is_demonstration;
  std::function<camera::SourceKind()> source_kind;
  std::function<Vitals()> vitals;
  std::function<DoctorInput()> doctor;
  const ModelBoard& models;
  ModelKeeper& keeper;
  std::function<TrialRule()> trial_rule;  // as the configuration has it
  const Latest<Prediction>& latest;
  const Stats& stats;
  RecentBoard& board;
  const camera::Mailbox& mailbox;
  SnapshotBoard& snapshots;
  const FrameSamples& samples;
  ClassifyDesk& desk;
  visits::IdMaker& ids;
  Traffic& traffic;
  kserve::Figures& inference_figures;
  Door& door;
  EventFeed& events;
  visits::VisitBook visits;
  store::Store& store;
  Slots& long_answers;
  const LogBook& log_book;
  std::function<std::vector<Setting>()> settings;                             // all keys, in their order
  std::function<std::vector<Error>(const std::string& toml)> check_settings;  // faults of a file of this text
  std::function<std::string()> page;  // where people on other machines open the page: "http://feeder.local:8420"
  std::function<void(bool paused)> set_paused;
  const ClipRecorder* clips = nullptr;                      // nullptr: none are made
  std::function<std::optional<mqtt::Status>()> mqtt;        // nothing: not wished
  std::function<std::optional<webhook::Status>()> webhook;  // the same
  std::uint64_t max_body_bytes = 8U << 20;
  std::int64_t max_pixels = 24'000'000;
  LogSink log;
};

}  // namespace kinglet::daemon::http
