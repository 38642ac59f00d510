// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/app.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <thread>
#include <utility>

#include "daemon/app/app_parts.h"
#include "daemon/app/listening.h"
#include "daemon/app/status_line.h"
#include "daemon/catalogue/catalogue.h"
#include "daemon/settings/settings.h"
#include "daemon/values/page_address.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/session/thread_pool.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kStrictPatience{10};
// Of the end.
constexpr std::chrono::milliseconds kLongestRun{700};
constexpr std::chrono::milliseconds kSlowReader{300};
constexpr std::chrono::milliseconds kLongestCheck{200};

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

Result<KeeperOptions> keeper_options(const config::Config& config, const fs::path& state_folder,
                                     const std::shared_ptr<const engine::ThreadPool>& pool) {
  KeeperOptions options{.folder = model_folder(config, state_folder),
                        .state_folder = state_folder,
                        .configured_path = config.model.path.string(),
                        .configured = {},
                        .tables = name_tables(config),
                        .precision = model_precision(config),
                        .threads = config.inference.threads,
                        .pool = pool,
                        .prover = std::make_shared<ModelProver>(ProverOptions{.state_folder = state_folder}),
                        .catalogue = KINGLET_TRY(read_catalogue(config.model.catalogue))};
  if (auto configured = line_model_options(config)) {
    options.configured = std::move(*configured);
    options.configured->pool = pool;
    options.configured->state_folder = state_folder;
  }
  return options;
}

// The model that was activated; where it does not load, that of the configuration.
Result<LineModel> open_classifier(const config::Config& config, const KeeperOptions& keeper, const LogSink& log) {
  const auto chosen = chosen_model(keeper);
  if (!chosen) log(LogLevel::kError, describe(chosen.error()));
  if (chosen && *chosen) {
    Result<LineModel> classifier = keeper.prover->open(**chosen, {});
    if (classifier) return classifier;
    log(LogLevel::kError, format_text("the model that was activated cannot be used, that of the configuration is: {}",
                                      describe(classifier.error())));
  }
  LineModelOptions options = KINGLET_TRY(line_model_options(config));
  options.pool = keeper.pool;
  options.state_folder = keeper.state_folder;
  return keeper.prover->open(options, {});
}

http::DoorOptions door_options(const config::Config& config) {
  const std::string& anonymous = config.http.anonymous;
  http::DoorOptions options{.anonymous = anonymous == "none"   ? Role::kOpen
                                         : anonymous == "live" ? Role::kLive
                                                               : Role::kRead,
                            .trusted_proxies = {},
                            .requests_per_second = config.http.rate};
  for (const std::string& text : config.http.trusted_proxies) {
    // daemon/settings/settings_check.h has looked at them.
    if (const auto network = http::parse_network(text)) options.trusted_proxies.push_back(*network);
  }
  return options;
}

std::vector<std::string> files_of(const std::vector<http::Listener>& listeners) {
  std::vector<std::string> files;
  for (const http::Listener& listener : listeners) {
    if (!listener.file.empty()) files.push_back(listener.file);
  }
  return files;
}

// Nothing: no certificate is configured.
Result<std::unique_ptr<http::Tls>> open_tls(const config::Config& config) {
  if (config.http.tls_certificate.empty() && config.http.tls_key.empty()) return nullptr;
  return http::Tls::open(config.http.tls_certificate, config.http.tls_key);
}

}  // namespace

App::App(std::unique_ptr<AppParts> parts) : parts_(std::move(parts)) {}

App::~App() {
  (void)stop([](const char*) {});
  parts_->pipeline.stop();
  parts_->keeper.stop();
}

bool App::stop(const std::function<void(const char* step)>& note_step) {
  AppParts& parts = *parts_;
  if (std::exchange(stopped_, true)) return true;
  parts.ends = true;
  parts.watchdog.stopping();
  for (const auto& camera : parts.cameras) camera->capture.begin_stop();
  parts.keeper.begin_stop();
  parts.desk.close();
  note_step("the model that runs");
  const bool line_ended = parts.pipeline.stop_by(SteadyClock::now() + kLongestRun);
  if (!line_ended) parts.end_open_visits();
  // The disk, however slow it is, and those who tell others at the same time.
  parts.history.begin_finish();
  note_step("the events");
  parts.events.stop();
  parts.integrations.begin_stop();
  note_step("the disk");
  parts.history.finish();
  note_step("MQTT or the webhook");
  parts.integrations.stop();
  note_step("clients");
  (void)parts.events.bus().wait_until_taken(SteadyClock::now() + kSlowReader);
  if (parts.server) parts.server->stop();
  note_step("the camera");
  for (const auto& camera : parts.cameras) camera->capture.stop();
  for (const auto& camera : parts.cameras) camera->samples.stop();
  note_step("a model that is loaded");
  const bool keeper_ended = parts.keeper.stop_by(SteadyClock::now() + kLongestCheck);
  note_step("the last files");
  return line_ended && keeper_ended;
}

Result<std::unique_ptr<App>> App::start(const config::Config& config, const AppOptions& options, const LogSink& log) {
  std::vector<http::Listener> listeners = KINGLET_TRY(open_listeners(config.http.listen, log));
  std::unique_ptr<http::Tls> tls = KINGLET_TRY(open_tls(config));
  if (tls) speak_tls(listeners);
  if (options.opened) options.opened(files_of(listeners));
  const LineOptions line_options = KINGLET_TRY(daemon::line_options(config));
  store::StoreOptions store_options = KINGLET_TRY(daemon::store_options(config, log));
  http::DoorOptions door = door_options(config);
  IntegrationOptions integrations = KINGLET_TRY(integration_options(config));
  const auto pool = KINGLET_TRY(engine::ThreadPool::make(config.inference.threads));
  KeeperOptions keeper = KINGLET_TRY(keeper_options(config, store_options.folder, pool));
  Result<LineModel> classifier = open_classifier(config, keeper, log);
  if (!classifier) {
    if (options.strict) return std::unexpected(classifier.error());
    log(LogLevel::kError, "no model: " + describe(classifier.error()));
    if (!classifier.error().hint.empty()) log(LogLevel::kError, "hint: " + classifier.error().hint);
  } else {
    const ModelFacts& facts = *classifier->facts();
    log(LogLevel::kInfo, format_text("model: {}{}, {} classes, {} threads, loaded in {:.0f} ms", facts.name,
                                     facts.demonstration ? " (demonstration)" : "", facts.labels.size(), facts.threads,
                                     (facts.load_time + facts.warmup_time).count()));
    log(LogLevel::kInfo, format_text("scores: output \"{}\" is {} ({})", printable(facts.output.name, 60),
                                     to_string(facts.output.meaning), facts.output.decided_by));
    log(facts.precision.refused ? LogLevel::kWarning : LogLevel::kInfo,
        format_text("computed in {}: {}", facts.precision.name(), facts.precision.reason));
    if (!facts.plan.kept.problem.empty())
      log(LogLevel::kWarning, "packed weights are not kept, each start packs them: " + facts.plan.kept.problem);
    if (!facts.output.has_scores) {
      log(LogLevel::kWarning, "the model names a class and gives no score: every answer counts as 1");
    }
    if (!facts.recipe_found) {
      log(LogLevel::kWarning, "no recipe for this model: pixels are scaled to 0..1, which may be wrong (model.recipe)");
    }
  }
  auto parts = std::make_unique<AppParts>(config, options, std::move(classifier), line_options, std::move(keeper),
                                          std::move(store_options), std::move(door), std::move(integrations), log);
  for (const http::Listener& listener : listeners) {
    parts->urls.push_back(listener.url);
    parts->listens_everywhere = parts->listens_everywhere || listener.everywhere;
    parts->log(LogLevel::kInfo,
               format_text("http: {}{}", listener.url, listener.everywhere ? ", and from other machines" : ""));
  }
  parts->tls = std::move(tls);
  const std::string page = page_of(listeners, name_at_home());
  parts->page = config.http.public_url.empty() ? page : config.http.public_url;
  if (options.started) options.started();
  parts->pipeline.start();
  parts->keeper.start();
  for (const auto& camera : parts->cameras) camera->capture.start();
  parts->server.emplace(std::move(listeners),
                        http::ServerOptions{.host_name = host_name(),
                                            .allowed_hosts = config.http.allowed_hosts,
                                            .allowed_origins = config.http.allowed_origins,
                                            .tls = parts->tls.get()},
                        parts->server_parts(config));
  parts->integrations.start(parts->views, page);
  parts->notify_keeper.attach(parts->integrations.notifier());
  parts->events.start({.visits = parts->book,
                       .predictions = std::get<http::PredictionsView>(parts->views),
                       .figures = std::get<http::FiguresView>(parts->views)});
  parts->server->start();
  parts->look_after_threads(options.signals);
  parts->watchdog.ready();
  std::unique_ptr<App> app(new App(std::move(parts)));
  if (options.strict) {
    KINGLET_TRY(app->wait_for_frames(options.called_off));
  }
  return app;
}

Result<void> App::wait_for_frames(const std::function<bool()>& called_off) const {
  const SteadyTime deadline = SteadyClock::now() + kStrictPatience;
  for (;;) {
    const Vitals vitals = parts_->vitals();
    const auto silent = std::ranges::find_if(
        vitals.cameras, [](const CameraVitals& one) { return one.status.state != CameraState::kStreaming; });
    if (silent == vitals.cameras.end() || (called_off && called_off())) return {};
    const CameraStatus& camera = silent->status;
    if (camera.state == CameraState::kAbsent || SteadyClock::now() > deadline) {
      const auto index = static_cast<std::size_t>(silent - vitals.cameras.begin());
      return fail(ErrorCode::kUnavailable, camera.detail.empty() ? "no frame came" : camera.detail,
                  parts_->settings.source(index).spec);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

const std::vector<std::string>& App::urls() const { return parts_->urls; }

std::expected<config::Loaded, config::Faults> App::reload() {
  return parts_->settings_keeper.reload([this]() -> Result<void> {
    if (parts_->tls) KINGLET_TRY(parts_->tls->reload());
    const auto facts = parts_->models.facts();
    if (facts) parts_->pipeline.rename(KINGLET_TRY(read_names_again(*facts)));
    return {};
  });
}

bool App::restart_is_wanted() const { return parts_->restart_is_wanted; }

void App::set_reload_failed(bool failed) { parts_->stats.set_reload_failed(failed); }

void App::tend() {
  const Vitals vitals = parts_->vitals();
  parts_->tokens.look();
  parts_->watchdog.look(vitals, service_status(vitals));
  parts_->note_throughput(vitals.now);
  parts_->govern(vitals.now);
  parts_->look_at_restored(vitals.now);
  parts_->let_go_of_idle_pages(vitals.now);
  (void)parts_->update_watch.look(vitals.now);
  parts_->keep_scene_from_real_models();
  parts_->detector.tell(parts_->log);
}

std::string App::status_line() const {
  const Vitals vitals = parts_->vitals();
  const std::optional<Prediction> latest = parts_->latest.get();
  const std::shared_ptr<const ModelFacts> model = latest ? parts_->models.find(latest->model) : parts_->models.facts();
  Stats::View view = parts_->stats.view(vitals.now);
  view.motion = parts_->cameras.at(latest ? latest->camera : 0)->stats.view(vitals.now).motion;
  return daemon::status_line(vitals, view, latest, model.get());
}

}  // namespace kinglet::daemon
