// SPDX-License-Identifier: Apache-2.0
// Why: what a handler may reach is what its subject needs, and no more: a view each, made once by the daemon's own
// parts (daemon/app/app_parts.cpp) or by a test. Nothing here runs the model or touches the camera.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/log.h"

namespace kinglet::camera {
class Mailbox;
enum class SourceKind : std::uint8_t;
}  // namespace kinglet::camera
namespace kinglet::engine {
struct PoolFacts;
}
namespace kinglet::store {
class Store;
}
namespace kinglet::visits {
struct VisitBook;
}

namespace kinglet::daemon {

class ClassifyDesk;
class ClipRecorder;
class EventBus;
class FrameSamples;
class LineDetector;
class LogBook;
class ModelBoard;
class ModelKeeper;
class LatestPredictions;
class RecentBoard;
class SnapshotBoard;
class Stats;
class UnnamedTracks;
struct DoctorInput;
struct Prediction;
struct TrialRule;
struct Update;
struct Vitals;

namespace backup {
struct Desk;
}
namespace kserve {
class Figures;
}
namespace mqtt {
struct Status;
}
namespace notify {
struct Status;
}
namespace webhook {
struct Status;
}

namespace http {

class Door;
class Slots;
class Traffic;
class BirdListDesk;
class NotifyDesk;
class SettingsDesk;

// Everything that is referred to outlives the server and is thread-safe.

struct NoView {};  // of handlers that answer from what is built in

struct VersionView {
  const Stats& stats;
  std::function<std::optional<Update>()> update;  // nothing: apt knows no newer one
};

struct AccessView {
  Door& door;
  std::function<std::string()> page;  // where people on other machines open the page: "http://feeder.local:8420"
};

struct ConfigView {
  SettingsDesk& desk;
  std::function<std::vector<Error>(const std::string& toml)> check_settings;  // faults of a file of this text
};

// Lists of birds that an owner sends, matched to the model's.
struct BirdListsView {
  BirdListDesk& desk;
  const ModelBoard& models;
};

// Messages to phones.
struct NotifyView {
  NotifyDesk& desk;
  const ModelBoard& models;
  std::function<Result<std::vector<std::string>>()> seen;  // species_ids of the history
};

struct ControlView {
  std::function<void(bool paused)> set_paused;
  std::function<bool()> restart;  // ends in order soon, to be started again; false: by nobody
  const LogBook& log_book;
  LogSink log;
};

struct BackupView {
  const backup::Desk& desk;
  Slots& long_answers;
  LogSink log;
};

struct ModelsView {
  const ModelBoard& models;
  ModelKeeper& keeper;
  std::function<TrialRule()> trial_rule;   // as the configuration has it
  const LineDetector* detector = nullptr;  // nullptr: none
};

// Pictures and tensors that are posted.
struct ClassifyView {
  const ModelBoard& models;
  ClassifyDesk& desk;
  std::int64_t max_pixels = 24'000'000;
};

// The Open Inference Protocol.
struct InferenceView {
  ClassifyView posted;
  kserve::Figures& figures;
  std::function<Vitals()> vitals;
};

struct PredictionsView {
  std::vector<std::string> cameras;  // names, by Prediction::camera
  const ModelBoard& models;
  const LatestPredictions& latest;
  store::Store& store;  // keeps those that visits rest on
};

struct HistoryView {
  const visits::VisitBook& visits;
  store::Store& store;
  const ModelBoard& models;
  EventBus& events;
  Slots& long_answers;
};

// What was seen and not named; who names it makes a visit of it.
struct TracksView {
  UnnamedTracks& tracks;
  HistoryView history;
};

struct HealthView {
  std::function<Vitals()> vitals;
  std::function<DoctorInput()> doctor;
};

// One camera.
struct CameraView {
  std::string name;  // the source of its frames, in answers, events and metrics
  std::function<camera::SourceKind()> kind;
  std::function<bool()> is_demonstration;
  const Stats& stats;
  const camera::Mailbox& mailbox;
  SnapshotBoard& snapshots;
  const FrameSamples& samples;
  const ClipRecorder* clips = nullptr;  // nullptr: none are made
};

// All of them, and their frames as pictures.
struct CamerasView {
  std::vector<CameraView> cameras;  // the first one first, one at least; as Vitals::cameras
  std::function<Vitals()> vitals;
  const LatestPredictions& latest;
  Slots& long_answers;
};

struct FiguresView {
  const CamerasView& cameras;
  const Stats& stats;  // of all cameras
  const ModelBoard& models;
  std::function<engine::PoolFacts()> workers;  // of all models
  RecentBoard& board;
  store::Store& store;
  const Slots& long_answers;
  const Traffic& traffic;
  std::function<std::optional<mqtt::Status>()> mqtt;        // nothing: not wished
  std::function<std::optional<webhook::Status>()> webhook;  // the same
  std::function<std::vector<notify::Status>()> notify;      // of each service; empty: none is wished
};

struct EventsView {
  EventBus& bus;
  Slots& long_answers;
};

// A row of routes.def names the one that its handler gets.
using Views = std::tuple<NoView, VersionView, AccessView, ConfigView, BirdListsView, NotifyView, ControlView,
                         BackupView, ModelsView, ClassifyView, InferenceView, PredictionsView, HistoryView, TracksView,
                         HealthView, CamerasView, FiguresView, EventsView>;

}  // namespace http
}  // namespace kinglet::daemon
