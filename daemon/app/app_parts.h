// SPDX-License-Identifier: Apache-2.0
// Why: all parts of the daemon, in the order in which they need each other, and what one tells another. app.cpp gives
// them their life.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "camera/frame/bell.h"
#include "camera/source/source.h"
#include "camera/sources/auto_source.h"
#include "daemon/answer/camera.h"
#include "daemon/answer/classify_desk.h"
#include "daemon/answer/kept_detector.h"
#include "daemon/answer/latest.h"
#include "daemon/answer/pipeline.h"
#include "daemon/answer/unnamed_tracks.h"
#include "daemon/answer/visit_predictions.h"
#include "daemon/app/app.h"
#include "daemon/app/desks/bird_lists.h"
#include "daemon/app/desks/live_settings.h"
#include "daemon/app/desks/notify_keeper.h"
#include "daemon/app/desks/settings_keeper.h"
#include "daemon/app/integrations.h"
#include "daemon/app/watchdog.h"
#include "daemon/backup/desk.h"
#include "daemon/doctor/doctor.h"
#include "daemon/doctor/health.h"
#include "daemon/doctor/log_book.h"
#include "daemon/http/access/door.h"
#include "daemon/http/figures/inference_figures.h"
#include "daemon/http/figures/slots.h"
#include "daemon/http/figures/traffic.h"
#include "daemon/http/live/event_feed.h"
#include "daemon/http/routes/views.h"
#include "daemon/http/server/server.h"
#include "daemon/line/gate/governor.h"
#include "daemon/line/line_model.h"
#include "daemon/machine/board.h"
#include "daemon/machine/update.h"
#include "daemon/models/model_keeper.h"
#include "engine/base/mutex.h"
#include "store/store.h"
#include "visits/book.h"
#include "visits/ids.h"

namespace kinglet::daemon {

// Destroyed in the reverse order: HTTP first, then the model, then the cameras.
struct AppParts {
  AppParts(const config::Config& config, const AppOptions& options, Result<LineModel> classifier,
           const LineOptions& line_options, KeeperOptions keeper_options, store::StoreOptions store_options,
           http::DoorOptions door_options, IntegrationOptions integration_options, LogSink log_sink);
  ~AppParts();  // sources end before what they ask

  [[nodiscard]] Vitals vitals() const;
  // From now on all threads are expected to come round. `signals`: of a thread that is not ours; nullptr: none.
  void look_after_threads(const Pulse* signals);
  [[nodiscard]] std::vector<LateThread> late_threads(SteadyTime now) const;
  // A row of the throughput history for each span. Main's thread only.
  void note_throughput(SteadyTime now);
  // What was before a restore goes when it has worked for a day. Main's thread only.
  void look_at_restored(SteadyTime now);
  // What only the start or something rare has looked at of the program is not kept. Main's thread only.
  void let_go_of_idle_pages(SteadyTime now);
  // Looks less often while the board is hot, and says so. Main's thread only.
  void govern(SteadyTime now);

  // What the parts are made with, and ask of each other.
  store::StoreOptions with_clock(store::StoreOptions options);
  std::vector<std::unique_ptr<Camera>> make_cameras(const config::Config& config);
  // `classifier`: an error leaves the cameras without lines.
  std::vector<Feed> make_feeds(Result<LineModel> classifier, const LineOptions& options);
  http::CamerasView make_cameras_view();
  http::Views make_views(const config::Config& config);
  http::ServerParts server_parts(const config::Config& config);
  // `options`: as the camera has them.
  FrameLine make_line(Camera& camera, std::shared_ptr<LineModel> classifier, LineOptions options);
  // Birds of the seasons before; without a history all are new.
  visits::LastSeen last_seen();
  void note_visit(Camera& camera, visits::VisitEvent event, const visits::Visit& visit);
  void note_track_end(const Camera& camera, const Track& track);
  // For the answer thread, which is busy: visits end as they were last told. Nothing comes after them.
  void end_open_visits();
  // As the API has it; nothing when its model is not known any more.
  [[nodiscard]] std::function<std::string()> described(const Prediction& prediction) const;
  Result<std::unique_ptr<camera::FrameSource>> open_source(const Camera& camera);
  [[nodiscard]] bool source_is_demonstration(const Camera& camera) const;
  [[nodiscard]] bool scene_may_stand_in() const;
  // A model that took the place of the demonstration's would name drawn birds as if they were there.
  void keep_scene_from_real_models();
  [[nodiscard]] DoctorInput doctor_input() const;
  void take_up(const LiveSettings::Change& change, const config::Loaded& wanted);
  // A list of birds was changed on the disk.
  [[nodiscard]] Result<void> take_up(http::BirdList list);

  LogBook log_book;
  const LogSink log;
  LiveSettings settings;
  mutable Mutex pulses_mutex;
  std::vector<const Pulse*> pulses KINGLET_GUARDED_BY(pulses_mutex);  // of all that have threads, once they run
  visits::IdMaker ids;
  const std::shared_ptr<visits::LastSeen> seen_before = std::make_shared<visits::LastSeen>();
  const std::filesystem::path state_folder;
  const std::function<void(const std::string& level)> set_log_level;  // may be empty
  const bool has_manager;
  std::atomic<bool> restart_is_wanted = false;
  std::atomic<bool> ends = false;
  const backup::Desk backup_desk;
  NotifyKeeper notify_keeper;
  SettingsKeeper settings_keeper;
  BirdLists bird_lists;
  store::Store history;  // makes the folder
  TokenBook tokens;
  http::Door door;
  http::EventFeed events;
  Stats stats;  // of all cameras
  RecentBoard board;
  LatestPredictions latest;
  VisitPredictions predictions;
  UnnamedTracks unnamed;
  Mutex visit_mutex;
  std::vector<visits::Visit> open_visits KINGLET_GUARDED_BY(visit_mutex);  // as last told
  bool visits_are_over KINGLET_GUARDED_BY(visit_mutex) = false;
  const std::shared_ptr<camera::Bell> bell = std::make_shared<camera::Bell>();  // there is work for the answer thread
  http::Traffic traffic;
  kserve::Figures inference_figures;
  http::Slots long_answers;
  ModelBoard models;
  ClassifyDesk desk;
  ModelDesk model_desk;
  KeptDetector detector;
  camera::AutoChoice auto_choice;                      // of the first camera
  const std::vector<std::unique_ptr<Camera>> cameras;  // one at least
  Pipeline pipeline;
  ModelKeeper keeper;
  const visits::VisitBook book = history.book();
  const http::CamerasView seen_by_handlers;
  const http::Views views;
  Integrations integrations;
  Watchdog watchdog;
  Governor governor;
  UpdateWatch update_watch;
  SteadyTime next_temperature{};
  SteadyTime next_look_at_restored{};
  SteadyTime next_let_go_of_pages = SteadyClock::now() + std::chrono::seconds(10);  // all has begun by then
  SteadyTime span_begun = SteadyClock::now();
  std::uint64_t span_frames = 0;
  std::uint64_t span_images = 0;
  std::uint64_t span_accepted = 0;
  std::unique_ptr<http::Tls> tls;  // empty: none
  std::vector<std::string> urls;
  std::string page;  // where people on other machines open it; before the server starts
  bool listens_everywhere = false;
  std::optional<http::Server> server;
};

}  // namespace kinglet::daemon
