// SPDX-License-Identifier: Apache-2.0
#include "daemon/app.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <utility>

#include "camera/auto_source.h"
#include "camera/mailbox.h"
#include "camera/source.h"
#include "daemon/board.h"
#include "daemon/capture.h"
#include "daemon/classifier.h"
#include "daemon/clip_recorder.h"
#include "daemon/clock_sync.h"
#include "daemon/gate/governor.h"
#include "daemon/http/access/door.h"
#include "daemon/http/json.h"
#include "daemon/http/live/event_feed.h"
#include "daemon/http/server/server.h"
#include "daemon/integrations.h"
#include "daemon/listening.h"
#include "daemon/live_settings.h"
#include "daemon/log_book.h"
#include "daemon/model_keeper.h"
#include "daemon/pipeline.h"
#include "daemon/settings.h"
#include "daemon/status_line.h"
#include "daemon/visit_pictures.h"
#include "daemon/visit_predictions.h"
#include "daemon/watchdog.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "store/store.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeptPredictions = 4096;
constexpr std::size_t kPostedPictures = 5;         // one in work, four waiting
constexpr http::Slots::Limits kLongAnswers{8, 4};  // events; pictures
constexpr std::size_t kLongAnswersOfAddress = 3;
constexpr std::chrono::seconds kStrictPatience{10};
constexpr std::chrono::minutes kThroughputSpan{5};
constexpr std::chrono::seconds kThermometerInterval{5};

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

KeeperOptions keeper_options(const config::Config& config, const fs::path& state_folder) {
  KeeperOptions options{.folder = model_folder(config, state_folder),
                        .state_folder = state_folder,
                        .configured_path = config.model.path.string(),
                        .configured = {},
                        .names = config.model.names,
                        .threads = config.inference.threads};
  if (auto configured = classifier_options(config)) options.configured = std::move(*configured);
  return options;
}

// The model that was activated; where it does not load, that of the configuration.
Result<Classifier> open_classifier(const config::Config& config, const KeeperOptions& keeper, const LogSink& log) {
  const auto chosen = chosen_model(keeper);
  if (!chosen) log(LogLevel::kError, describe(chosen.error()));
  if (chosen && *chosen) {
    Result<Classifier> classifier = Classifier::open(**chosen);
    if (classifier) return classifier;
    log(LogLevel::kError, format_text("the model that was activated cannot be used, that of the configuration is: {}",
                                      describe(classifier.error())));
  }
  return Classifier::open(KINGLET_TRY(classifier_options(config)));
}

Result<http::DoorOptions> door_options(const config::Config& config) {
  const std::string& anonymous = config.http.anonymous;
  http::DoorOptions options{.anonymous = anonymous == "none"   ? Role::kOpen
                                         : anonymous == "live" ? Role::kLive
                                                               : Role::kRead,
                            .trusted_proxies = {},
                            .requests_per_second = config.http.rate};
  for (const std::string& text : config.http.trusted_proxies) {
    const std::optional<http::Network> network = http::parse_network(text);
    if (!network) {
      return fail(ErrorCode::kConfig, format_text("http.trusted_proxies: \"{}\" is no address", printable(text)), {},
                  "such as 192.168.1.2 or 10.0.0.0/24");
    }
    options.trusted_proxies.push_back(*network);
  }
  return options;
}

// Nothing: no certificate is configured.
Result<std::unique_ptr<http::Tls>> open_tls(const config::Config& config) {
  if (config.http.tls_certificate.empty() && config.http.tls_key.empty()) return nullptr;
  return http::Tls::open(config.http.tls_certificate, config.http.tls_key);
}

LogSink into_book(LogSink log, LogBook& book) {
  return [log = std::move(log), &book](LogLevel level, std::string_view text) {
    book.add(level, text);
    log(level, text);
  };
}

LookAhead look_ahead(const config::Config& config) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return cores > config.inference.threads ? LookAhead::kYes : LookAhead::kNo;
}

}  // namespace

// Declared in the order of building; destroyed in the reverse order: HTTP first, then the camera, then the model.
struct App::Parts {
  Parts(const config::Config& config, const AppOptions& options, Result<Classifier> classifier,
        const LineOptions& line_options, KeeperOptions keeper_options, store::StoreOptions store_options,
        http::DoorOptions door_options, IntegrationOptions integration_options, LogSink log_sink)
      : log_book(config.log.level),
        log(into_book(std::move(log_sink), log_book)),
        settings(config, options.origins, log),
        state_folder(store_options.folder),
        history(with_clock(std::move(store_options))),
        tokens(state_folder, log),
        door(std::move(door_options), tokens),
        events(history.boot_tag()),
        clips(wants_clips(config, history) ? std::make_unique<ClipRecorder>(clip_options(config), log) : nullptr),
        pictures(history, clips.get()),
        stats(SteadyClock::now()),
        predictions(latest, [this](const Prediction& prediction) { return described(prediction); }),
        samples({.count = static_cast<std::size_t>(config.model.samples)}, log),
        models(classifier ? std::string() : describe(classifier.error())),
        desk(kPostedPictures, [this] { mailbox.nudge(); }),
        model_desk([this] { mailbox.nudge(); }),
        pipeline(
            first_line(std::move(classifier), line_options), mailbox, desk, stats, latest, log,
            [this](const camera::Frame& frame, const Prediction& prediction) {
              pictures.look(frame, prediction);
              predictions.look(prediction);
            },
            {.board = &models,
             .desk = &model_desk,
             .make_line = [this](Classifier first,
                                 const LineOptions& line) { return make_line(std::move(first), line); },
             .options = line_options},
            &samples, look_ahead(config)),
        keeper(std::move(keeper_options), models, model_desk, ids, log, [this] { inference_figures.reset(); }),
        capture([this] { return open_source(); }, capture_options(config), mailbox, snapshots, stats, log),
        context{.source_is_demonstration = [this] { return source_is_demonstration(); },
                .vitals = [this] { return vitals(); },
                .doctor = [this] { return doctor_input(); },
                .models = models,
                .keeper = keeper,
                .trial_rule = [this] { return settings.trial_rule(); },
                .latest = latest,
                .stats = stats,
                .board = board,
                .mailbox = mailbox,
                .snapshots = snapshots,
                .samples = samples,
                .desk = desk,
                .ids = ids,
                .traffic = traffic,
                .inference_figures = inference_figures,
                .door = door,
                .events = events,
                .visits = history.book(),
                .store = history,
                .long_answers = long_answers,
                .log_book = log_book,
                .settings = [this] { return settings.list(); },
                .check_settings = [](const std::string& toml) { return config::check_text(toml, "body"); },
                .set_paused = [this](bool paused) { pipeline.set_paused(paused); },
                .clips = clips.get(),
                .mqtt = [this] { return integrations.mqtt(); },
                .webhook = [this] { return integrations.webhook(); },
                .max_body_bytes = config.http.max_body.count,
                .max_pixels = config.http.max_pixels,
                .log = log},
        integrations(std::move(integration_options), log),
        watchdog(systemd_notify()),
        governor(config.gate.hot) {}

  store::StoreOptions with_clock(store::StoreOptions options) {
    options.clock_synced = clock_is_synced;
    options.newest_id_ms = [this] { return ids.last_ms(); };
    return options;
  }

  std::optional<FrameLine> first_line(Result<Classifier> classifier, const LineOptions& options) {
    ids.start_at(history.last_id_ms());
    if (!classifier) return std::nullopt;
    return make_line(std::move(*classifier), options);
  }

  FrameLine make_line(Classifier classifier, LineOptions options) {
    std::vector<std::string> warnings;
    options.track.first_seq = history.next_seq();
    options.track.last_seen = last_seen();
    FrameLine line(
        std::move(classifier), std::move(options), ids,
        [this](visits::VisitEvent event, const visits::Visit& visit) { note_visit(event, visit); }, warnings);
    for (const std::string& warning : warnings) log(LogLevel::kWarning, warning);
    return line;
  }

  void note_visit(visits::VisitEvent event, const visits::Visit& visit) {
    const bool ended = event == visits::VisitEvent::kEnd;
    if (event == visits::VisitEvent::kStart) {
      stats.add_visit();
      pictures.visit_began(visit);
      predictions.visit_began(visit);
    }
    // The pictures first: the writer then finds them with the visit.
    if (ended) pictures.visit_ended(visit);
    history.put(ended ? predictions.complete(visit) : visit);
    events.note(event, visit);
    log(LogLevel::kDebug,
        format_text("{}: {} {:.2f}", visits::to_string(event), visit.species_id(), visit.model_result.score));
  }

  // As the API has it; nothing when its model is not known any more.
  [[nodiscard]] std::optional<std::string> described(const Prediction& prediction) const {
    const auto model = models.find(prediction.model);
    if (!model) return std::nullopt;
    return http::to_json(prediction, *model, context.source_name).dump();
  }

  // A row of the throughput history for each span. Main's thread only.
  void note_throughput(SteadyTime now) {
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

  // Looks less often while the board is hot, and says so. Main's thread only.
  void govern(SteadyTime now) {
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

  // Birds of the seasons before; without a history all are new.
  visits::LastSeen last_seen() {
    visits::LastSeen seen;
    const auto species = history.species();
    if (!species) return seen;
    for (const store::SpeciesSeen& one : *species) seen[one.species_id] = one.last_seen_at;
    return seen;
  }

  // Only for a disk, which keeps whole frames as well.
  static bool wants_clips(const config::Config& config, const store::Store& history) {
    return config.store.clips.count() > 0 && config.privacy.keep_full_frames.count() > 0 &&
           !history.brief().memory_is_wanted;
  }

  ClipOptions clip_options(const config::Config& config) {
    ClipOptions options;
    options.limits.before = config.store.clips;
    options.wanted = [this] { return history.takes_clips(); };
    return options;
  }

  CaptureOptions capture_options(const config::Config& config) {
    CaptureOptions options;
    options.settle = config.gate.settle;
    options.clips = clips.get();
    return options;
  }

  Result<std::unique_ptr<camera::FrameSource>> open_source() {
    const camera::SourceOptions source = settings.source();
    return source.spec == "auto" ? auto_choice.open(source) : camera::open_source(source);
  }

  [[nodiscard]] bool source_is_demonstration() const {
    const std::string spec = settings.source().spec;
    return spec.starts_with("demo:") || (spec == "auto" && auto_choice.is_demonstration());
  }

  [[nodiscard]] Vitals vitals() const {
    const SteadyTime now = SteadyClock::now();
    CameraStatus camera = capture.status(now);
    if (pipeline.paused() && camera.state == CameraState::kStreaming) camera.state = CameraState::kPaused;
    return Vitals{.now = now,
                  .camera = std::move(camera),
                  .answer_heartbeat = pipeline.heartbeat(),
                  .last_answer_at = stats.last_answer_at(),
                  .model_loaded = models.facts() != nullptr,
                  .model_problem = models.problem(),
                  .model_since = models.since(),
                  .store = history.brief(),
                  .integrations = integrations.checks()};
  }

  [[nodiscard]] DoctorInput doctor_input() const {
    const Vitals vitals = this->vitals();
    const std::shared_ptr<const ModelFacts> model = models.facts();
    DoctorInput input{
        .daemon_problem = {}, .camera = {}, .model = {}, .disk = {}, .network = {}, .clock_synced = clock_is_synced()};
    input.camera = {.state = std::string(to_string(vitals.camera.state)),
                    .detail = vitals.camera.detail,
                    .description = vitals.camera.description,
                    .demonstration = source_is_demonstration(),
                    .stalls = vitals.camera.stalls};
    input.model = {.loaded = model != nullptr, .name = {}, .problem = vitals.model_problem};
    if (model) {
      input.model = {.loaded = true,
                     .name = model->name,
                     .problem = {},
                     .recipe_found = model->recipe_found,
                     .labels_named = model->labels_from_file,
                     .demonstration = model->demonstration,
                     .fallback_nodes = model->plan.fallback_nodes};
    }
    input.disk = {.folder = state_folder, .note = vitals.store.note, .dropped_writes = vitals.store.dropped_writes};
    input.network = {.listening = urls, .everywhere = listens_everywhere};
    return input;
  }

  LogBook log_book;
  const LogSink log;
  LiveSettings settings;
  visits::IdMaker ids;
  const fs::path state_folder;
  store::Store history;  // makes the folder
  TokenBook tokens;
  http::Door door;
  http::EventFeed events;
  const std::unique_ptr<ClipRecorder> clips;  // empty: none are made
  VisitPictures pictures;
  Stats stats;
  RecentBoard board;
  Latest<Prediction> latest{kKeptPredictions};
  VisitPredictions predictions;
  SnapshotBoard snapshots;
  FrameSamples samples;
  camera::Mailbox mailbox;
  http::Traffic traffic;
  kserve::Figures inference_figures;
  http::Slots long_answers{kLongAnswers, kLongAnswersOfAddress};
  ModelBoard models;
  ClassifyDesk desk;
  ModelDesk model_desk;
  Pipeline pipeline;
  ModelKeeper keeper;
  camera::AutoChoice auto_choice;
  Capture capture;
  const http::Context context;
  Integrations integrations;
  Watchdog watchdog;
  Governor governor;
  SteadyTime next_temperature{};
  SteadyTime span_begun = SteadyClock::now();
  std::uint64_t span_frames = 0;
  std::uint64_t span_images = 0;
  std::uint64_t span_accepted = 0;
  std::unique_ptr<http::Tls> tls;  // empty: none
  std::vector<std::string> urls;
  bool listens_everywhere = false;
  std::optional<http::Server> server;
};

App::App(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

App::~App() {
  parts_->watchdog.stopping();
  // Waiting readers first, then what they wait for.
  parts_->desk.close();
  if (parts_->server) parts_->server->stop();
  parts_->integrations.stop();
  parts_->events.stop();
  parts_->keeper.stop();  // while there is a thread that gives its models back
  parts_->capture.stop();
  parts_->pipeline.stop();
  parts_->samples.stop();
}

Result<std::unique_ptr<App>> App::start(const config::Config& config, const AppOptions& options, const LogSink& log) {
  std::vector<http::Listener> listeners = KINGLET_TRY(open_listeners(config.http.listen, log));
  std::unique_ptr<http::Tls> tls = KINGLET_TRY(open_tls(config));
  if (tls) speak_tls(listeners);
  const LineOptions line_options = KINGLET_TRY(daemon::line_options(config));
  store::StoreOptions store_options = KINGLET_TRY(daemon::store_options(config, log));
  http::DoorOptions door = KINGLET_TRY(door_options(config));
  IntegrationOptions integrations = KINGLET_TRY(integration_options(config));
  KeeperOptions keeper = keeper_options(config, store_options.folder);
  Result<Classifier> classifier = open_classifier(config, keeper, log);
  if (options.loaded) options.loaded();
  if (!classifier) {
    if (options.strict) return std::unexpected(classifier.error());
    log(LogLevel::kError, "no model: " + describe(classifier.error()));
    if (!classifier.error().hint.empty()) log(LogLevel::kError, "hint: " + classifier.error().hint);
  } else {
    const ModelFacts& facts = *classifier->facts();
    log(LogLevel::kInfo, format_text("model: {}{}, {} classes, {} threads, loaded in {:.0f} ms", facts.name,
                                     facts.demonstration ? " (demonstration)" : "", facts.labels.size(), facts.threads,
                                     (facts.load_time + facts.warmup_time).count()));
    if (!facts.recipe_found) {
      log(LogLevel::kWarning, "no recipe for this model: pixels are scaled to 0..1, which may be wrong (model.recipe)");
    }
  }
  auto parts = std::make_unique<Parts>(config, options, std::move(classifier), line_options, std::move(keeper),
                                       std::move(store_options), std::move(door), std::move(integrations), log);
  for (const http::Listener& listener : listeners) {
    parts->urls.push_back(listener.url);
    parts->listens_everywhere = parts->listens_everywhere || listener.everywhere;
    parts->log(LogLevel::kInfo,
               format_text("http: {}{}", listener.url, listener.everywhere ? ", and from other machines" : ""));
  }
  parts->tls = std::move(tls);
  const std::string page = page_of(listeners, host_name());
  parts->pipeline.start();
  parts->keeper.start();
  parts->capture.start();
  parts->server.emplace(std::move(listeners),
                        http::ServerOptions{.host_name = host_name(),
                                            .allowed_hosts = config.http.allowed_hosts,
                                            .allowed_origins = config.http.allowed_origins,
                                            .tls = parts->tls.get()},
                        parts->context);
  parts->integrations.start(parts->context, page);
  parts->events.start(parts->context);
  parts->server->start();
  parts->watchdog.ready();
  std::unique_ptr<App> app(new App(std::move(parts)));
  if (options.strict) {
    const SteadyTime deadline = SteadyClock::now() + kStrictPatience;
    while (app->parts_->vitals().camera.state != CameraState::kStreaming) {
      const CameraStatus camera = app->parts_->vitals().camera;
      if (camera.state == CameraState::kAbsent || SteadyClock::now() > deadline) {
        return fail(ErrorCode::kUnavailable, camera.detail.empty() ? "no frame came" : camera.detail,
                    config.source.spec);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  return app;
}

const std::vector<std::string>& App::urls() const { return parts_->urls; }

Result<void> App::reload(const config::Loaded& wanted) {
  if (parts_->tls) KINGLET_TRY(parts_->tls->reload());
  const LiveSettings::Change change = KINGLET_TRY(parts_->settings.reload(wanted));
  if (change.line) parts_->pipeline.adopt(*change.line);
  parts_->log_book.set_level(wanted.config.log.level);
  if (change.camera_settle) parts_->capture.reopen(*change.camera_settle);
  return {};
}

void App::set_reload_failed(bool failed) { parts_->stats.set_reload_failed(failed); }

void App::tend() {
  const Vitals vitals = parts_->vitals();
  parts_->tokens.look();
  parts_->watchdog.look(vitals, service_status(vitals));
  parts_->note_throughput(vitals.now);
  parts_->govern(vitals.now);
}

std::string App::status_line() const {
  const Vitals vitals = parts_->vitals();
  const std::optional<Prediction> latest = parts_->latest.get();
  const std::shared_ptr<const ModelFacts> model = latest ? parts_->models.find(latest->model) : parts_->models.facts();
  return daemon::status_line(vitals, parts_->stats.view(vitals.now), latest, model.get());
}

}  // namespace kinglet::daemon
