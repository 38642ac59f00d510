// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/app_parts.h"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "camera/sources/open_source.h"
#include "daemon/app/restored.h"
#include "daemon/backup/change.h"
#include "daemon/capture/clips/clip_recorder.h"
#include "daemon/http/routes/json.h"
#include "daemon/machine/clock_sync.h"
#include "daemon/machine/thread_wait.h"
#include "daemon/settings/settings.h"
#include "daemon/settings/settings_check.h"
#include "engine/base/format.h"
#include "engine/session/program_pages.h"

namespace kinglet::daemon {
namespace {

constexpr std::size_t kKeptPredictions = 4096;
constexpr std::size_t kPostedPictures = 5;         // one in work, four waiting
constexpr http::Slots::Limits kLongAnswers{8, 4};  // events; pictures
constexpr std::size_t kLongAnswersOfAddress = 3;
constexpr std::chrono::minutes kThroughputSpan{5};
constexpr std::chrono::seconds kThermometerInterval{5};
constexpr std::chrono::minutes kLookAtRestored{10};
constexpr std::chrono::minutes kLetGoOfPages{10};

LogSink into_book(LogSink log, LogBook& book) {
  return [log = std::move(log), &book](LogLevel level, std::string_view text) {
    book.add(level, text);
    log(level, text);
  };
}

Result<std::vector<std::string>> seen_species(store::Store& history) {
  std::vector<std::string> ids;
  for (store::SpeciesSeen& one : KINGLET_TRY(history.species())) ids.push_back(std::move(one.species_id));
  return ids;
}

LookAhead look_ahead(const config::Config& config) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return cores > config.inference.threads ? LookAhead::kYes : LookAhead::kNo;
}

}  // namespace

AppParts::AppParts(const config::Config& config, const AppOptions& options, Result<LineModel> classifier,
                   const LineOptions& line_options, KeeperOptions keeper_options, store::StoreOptions store_options,
                   http::DoorOptions door_options, IntegrationOptions integration_options, LogSink log_sink)
    : log_book(config.log.level),
      log(into_book(std::move(log_sink), log_book)),
      settings(config, options.origins, log),
      state_folder(store_options.folder),
      set_log_level(options.set_log_level),
      has_manager(options.has_manager),
      backup_desk{.places = {.state = state_folder, .models = keeper_options.folder, .etc = {}},
                  .judge_settings = judge_with(options.load, state_folder),
                  .called_off = [this] { return ends.load(); }},
      notify_keeper(state_folder, config.notify, log),
      settings_keeper(
          {.load = options.load,
           .folder = state_folder,
           .kept = options.settings,
           .trouble = options.settings_trouble,
           .other_trouble = [this] { return notify_keeper.trouble(); }},
          settings, [this](const auto& change, const auto& wanted) { take_up(change, wanted); }, log),
      bird_lists({.folder = state_folder,
                  .settings = [this] { return settings.list(); },
                  .take_up = [this](http::BirdList list) { return take_up(list); },
                  .log = log}),
      history(with_clock(std::move(store_options))),
      tokens(state_folder, log),
      door(std::move(door_options), tokens, log),
      events(history.boot_tag(), config::camera_count(config), integration_options.clock.wall),
      stats(SteadyClock::now()),
      latest(kKeptPredictions,
             [this] {
               if (events.bus().wanted(EventType::kPrediction)) events.look();
             }),
      predictions(latest, [this](const Prediction& prediction) { return described(prediction); }),
      unnamed(config::camera_count(config)),
      long_answers(kLongAnswers, kLongAnswersOfAddress),
      models(classifier ? std::string() : describe(classifier.error()), [this] { events.look(); }),
      desk(kPostedPictures, [this] { bell->ring(); }),
      model_desk([this] { bell->ring(); }),
      detector(line_detector_options(config), keeper_options.pool, log),
      cameras(make_cameras(config)),
      pipeline(
          make_feeds(std::move(classifier), line_options), desk, latest, log,
          [this](const camera::Frame& frame, const Prediction& prediction) {
            cameras[prediction.camera]->pictures.look(frame, prediction);
            predictions.look(prediction);
            unnamed.look(frame, prediction, cameras[prediction.camera]->people);
          },
          {.board = &models,
           .desk = &model_desk,
           .make_line = [this](std::size_t camera, std::shared_ptr<LineModel> first,
                               const LineOptions& line) { return make_line(*cameras[camera], std::move(first), line); },
           .options = line_options},
          look_ahead(config)),
      keeper(std::move(keeper_options), models, model_desk, ids, log, [this] { inference_figures.reset(); }),
      seen_by_handlers(make_cameras_view()),
      views(make_views(config)),
      integrations(
          std::move(integration_options), [this] { return settings.language(); }, log),
      watchdog(systemd_notify()),
      governor(config.gate.hot) {}

AppParts::~AppParts() {
  for (const auto& camera : cameras) camera->capture.stop();
}

http::Views AppParts::make_views(const config::Config& config) {
  const auto ask_vitals = [this] { return vitals(); };
  const http::ClassifyView posted{.models = models, .desk = desk, .max_pixels = config.http.max_pixels};
  std::vector<std::string> names;
  for (const auto& camera : cameras) names.push_back(camera->name());
  const http::HistoryView told{
      .visits = book, .store = history, .models = models, .events = events.bus(), .long_answers = long_answers};
  return {http::NoView{},
          http::VersionView{.stats = stats, .update = [this] { return update_watch.found(); }},
          http::AccessView{.door = door, .page = [this] { return page; }},
          http::ConfigView{.desk = settings_keeper,
                           .check_settings = [](const std::string& toml) { return faults_of_text(toml, "body"); }},
          http::BirdListsView{.desk = bird_lists, .models = models},
          http::NotifyView{.desk = notify_keeper, .models = models, .seen = [this] { return seen_species(history); }},
          http::ControlView{.set_paused =
                                [this](bool paused) {
                                  pipeline.set_paused(paused);
                                  events.look();
                                },
                            .restart = [this] { return has_manager && (restart_is_wanted = true); },
                            .log_book = log_book,
                            .log = log},
          http::BackupView{.desk = backup_desk, .long_answers = long_answers, .log = log},
          http::ModelsView{.models = models,
                           .keeper = keeper,
                           .trial_rule = [this] { return settings.trial_rule(); },
                           .detector = detector.get()},
          posted,
          http::InferenceView{.posted = posted, .figures = inference_figures, .vitals = ask_vitals},
          http::PredictionsView{.cameras = names, .models = models, .latest = latest, .store = history},
          told,
          http::TracksView{.tracks = unnamed, .history = told},
          http::HealthView{.vitals =
                               [this] {
                                 Vitals found = vitals();
                                 // From the disk, which main's thread does not wait for.
                                 found.restore_waits = backup::is_waiting(state_folder);
                                 return found;
                               },
                           .doctor = [this] { return doctor_input(); }},
          seen_by_handlers,
          http::FiguresView{.cameras = seen_by_handlers,
                            .stats = stats,
                            .models = models,
                            .workers = [this] { return keeper.workers(); },
                            .board = board,
                            .store = history,
                            .long_answers = long_answers,
                            .traffic = traffic,
                            .mqtt = [this] { return integrations.mqtt(); },
                            .webhook = [this] { return integrations.webhook(); },
                            .notify = [this] { return integrations.notify(); }},
          http::EventsView{.bus = events.bus(), .long_answers = long_answers}};
}

http::ServerParts AppParts::server_parts(const config::Config& config) {
  return {.views = views,
          .door = door,
          .traffic = traffic,
          .ids = ids,
          .log_book = log_book,
          .log = log,
          .max_body_bytes = config.http.max_body.count};
}

store::StoreOptions AppParts::with_clock(store::StoreOptions options) {
  options.clock_synced = clock_is_synced;
  options.newest_id_ms = [this] { return ids.last_ms(); };
  return options;
}

void AppParts::note_visit(Camera& camera, visits::VisitEvent event, const visits::Visit& visit) {
  MutexLock lock(visit_mutex);
  if (visits_are_over) return;
  const bool ended = event == visits::VisitEvent::kEnd;
  std::erase_if(open_visits, [&](const visits::Visit& open) { return open.id == visit.id; });
  if (!ended) open_visits.push_back(visit);
  if (event == visits::VisitEvent::kStart) {
    camera.stats.add_visit();
    camera.pictures.visit_began(visit);
    predictions.visit_began(visit);
  }
  // The pictures first: the writer then finds them with the visit.
  if (ended) camera.pictures.visit_ended(visit);
  history.put(ended ? predictions.complete(visit) : visit);
  events.note(event, visit);
  log(LogLevel::kDebug,
      format_text("{}: {} {:.2f}", visits::to_string(event), visit.species_id(), visit.model_result.score));
}

void AppParts::note_track_end(const Camera& camera, const Track& track) {
  const LoadedModel model = models.current();
  if (!model.rule) return;
  unnamed.ended(track, *model.rule, track.drawn ? std::string(kDrawnSource) : camera.name(), model.facts->name,
                model.facts->digest, detector.get() != nullptr ? &detector.get()->labels() : nullptr);
}

void AppParts::end_open_visits() {
  MutexLock lock(visit_mutex);
  visits_are_over = true;
  for (visits::Visit& open : open_visits) {
    open.state = visits::VisitState::kEnded;
    history.put(open);
    events.note(visits::VisitEvent::kEnd, open);
  }
}

std::function<std::string()> AppParts::described(const Prediction& prediction) const {
  const auto model = models.find(prediction.model);
  if (!model) return {};
  return [prediction, model, source = cameras[prediction.camera]->name()] {
    return http::to_json(prediction, *model, source).dump();
  };
}

void AppParts::take_up(const LiveSettings::Change& change, const config::Loaded& wanted) {
  if (change.line) pipeline.adopt(*change.line);
  log_book.set_level(wanted.config.log.level);
  if (set_log_level) set_log_level(wanted.config.log.level);
  if (change.camera_settle) {
    for (const auto& camera : cameras) {
      if (camera->index() == 0 || change.every_camera) camera->capture.reopen(change.camera_settle);
    }
  }
  notify_keeper.take_up(wanted.config.notify);
}

Result<void> AppParts::take_up(http::BirdList list) {
  if (list == http::BirdList::kNames) {
    if (const auto facts = models.facts()) pipeline.rename(KINGLET_TRY(read_names_again(*facts)));
    return {};
  }
  Result<void> taken;
  settings_keeper.in_turn([&] {
    Result<LineOptions> line = settings.line_now();
    if (line) {
      pipeline.adopt(std::move(*line));
    } else {
      taken = std::unexpected(std::move(line).error());
    }
  });
  return taken;
}

void AppParts::note_throughput(SteadyTime now) {
  if (now - span_begun < kThroughputSpan) return;
  const Stats::View view = stats.view(now);
  const std::uint64_t accepted = view.by_outcome.at(static_cast<std::size_t>(Outcome::kAccepted));
  history.add_throughput({.at = std::chrono::system_clock::now(),
                          .clock_synced = clock_is_synced(),
                          .span = now - span_begun,
                          .frames = view.captured - std::exchange(span_frames, view.captured),
                          .images = view.predictions - std::exchange(span_images, view.predictions),
                          .accepted = accepted - std::exchange(span_accepted, accepted),
                          .latency_p50_ms = view.latency.recent.p50_ms,
                          .latency_p99_ms = view.latency.recent.p99_ms});
  span_begun = now;
}

void AppParts::look_at_restored(SteadyTime now) {
  if (now < next_look_at_restored) return;
  const bool first = next_look_at_restored == SteadyTime{};
  next_look_at_restored = now + kLookAtRestored;
  if (!first && history.brief().state == store::StoreState::kDisk) forget_proven(state_folder, kLookAtRestored, log);
}

void AppParts::let_go_of_idle_pages(SteadyTime now) {
  if (now < next_let_go_of_pages) return;
  next_let_go_of_pages = now + kLetGoOfPages;
  (void)engine::let_go_of_program_pages();
}

void AppParts::govern(SteadyTime now) {
  if (now < next_temperature) return;
  next_temperature = now + kThermometerInterval;
  const std::optional<double> celsius = read_temperature();
  const double before = governor.share();
  const double share = governor.update(celsius, now);
  if (share == before) return;
  pipeline.set_pace(share);
  log(share < before ? LogLevel::kWarning : LogLevel::kInfo,
      format_text("the processor has {:.0f} degrees: at most {:.4g} of gate.max_fps from now on", *celsius, share));
}

visits::LastSeen AppParts::last_seen() {
  visits::LastSeen seen;
  const auto species = history.species();
  if (!species) return seen;
  for (const store::SpeciesSeen& one : *species) seen[one.species_id] = one.last_seen_at;
  return seen;
}

bool AppParts::scene_may_stand_in() const {
  const std::shared_ptr<const ModelFacts> model = models.facts();
  return model != nullptr && model->demonstration;
}

void AppParts::keep_scene_from_real_models() {
  if (scene_may_stand_in() || !auto_choice.forget_scene()) return;
  log(LogLevel::kInfo,
      "source auto: the demonstration scene is for the demonstration model only: looking for a camera");
  cameras.front()->capture.reopen();
}

Vitals AppParts::vitals() const {
  const SteadyTime now = SteadyClock::now();
  const bool paused = pipeline.paused();
  std::vector<CameraVitals> seen;
  for (const auto& camera : cameras) {
    CameraStatus status = camera->capture.status(now);
    if (paused && status.state == CameraState::kStreaming) status.state = CameraState::kPaused;
    seen.push_back(
        {.name = camera->name(), .status = std::move(status), .unanswered_since = camera->stats.unanswered_since()});
  }
  return Vitals{.now = now,
                .cameras = std::move(seen),
                .paused = paused,
                .answer_heartbeat = pipeline.heartbeat(),
                .late = late_threads(now),
                .model_loaded = models.facts() != nullptr,
                .model_problem = models.problem(),
                .model_since = models.since(),
                .detector_problem = detector.problem(),
                .store = history.brief(),
                .integrations = integrations.checks()};
}

void AppParts::look_after_threads(const Pulse* signals) {
  MutexLock lock(pulses_mutex);
  pulses = {&history.pulse(), &events.pulse(), &keeper.pulse()};
  for (const auto& camera : cameras) {
    if (camera->clips) pulses.push_back(&camera->clips->pulse());
    if (const Pulse* pulse = camera->samples.pulse()) pulses.push_back(pulse);
  }
  std::ranges::copy(integrations.pulses(), std::back_inserter(pulses));
  std::ranges::copy(server->pulses(), std::back_inserter(pulses));
  if (signals != nullptr) pulses.push_back(signals);
}

std::vector<LateThread> AppParts::late_threads(SteadyTime now) const {
  std::vector<LateThread> late;
  MutexLock lock(pulses_mutex);
  for (const Pulse* pulse : pulses) {
    const SteadyTime by = pulse->by();
    if (by == SteadyTime::max() || now - by < kLateAfter) continue;
    late.push_back(
        {.name = pulse->name(), .last_sign = pulse->last(), .waits_for_disk = waits_for_disk(pulse->thread())});
  }
  return late;
}

DoctorInput AppParts::doctor_input() const {
  const Vitals vitals = this->vitals();
  const std::shared_ptr<const ModelFacts> model = models.facts();
  DoctorInput input{.daemon_problem = {},
                    .cameras = {},
                    .model = {},
                    .disk = {},
                    .network = {},
                    .clock_synced = clock_is_synced(),
                    .update = update_watch.found()};
  for (std::size_t i = 0; i < cameras.size(); ++i) {
    const CameraStatus& status = vitals.cameras[i].status;
    input.cameras.push_back({.name = cameras[i]->name(),
                             .state = std::string(to_string(status.state)),
                             .detail = status.detail,
                             .description = status.description,
                             .kind = camera::kind_of(settings.source(i).spec),
                             .demonstration = source_is_demonstration(*cameras[i]),
                             .stalls = status.stalls});
  }
  input.model = {.loaded = model != nullptr, .name = {}, .problem = vitals.model_problem};
  if (model) {
    input.model = {.loaded = true,
                   .name = model->name,
                   .problem = {},
                   .recipe_found = model->recipe_found,
                   .labels_named = model->labels_from_file,
                   .demonstration = model->demonstration,
                   .fallback_nodes = model->plan.fallback_nodes,
                   .detector_problem = vitals.detector_problem};
  }
  input.disk = {.folder = state_folder, .note = vitals.store.note, .dropped_writes = vitals.store.dropped_writes};
  input.network = {.listening = urls, .everywhere = listens_everywhere, .proxy = {}, .proxy_hint = {}};
  if (const auto trouble = door.proxy_trouble()) {
    input.network->proxy = trouble->detail;
    input.network->proxy_hint = trouble->hint;
  }
  return input;
}

}  // namespace kinglet::daemon
