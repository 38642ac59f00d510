// SPDX-License-Identifier: Apache-2.0
#include "daemon/app.h"

#include <unistd.h>

#include <array>
#include <optional>
#include <thread>
#include <utility>

#include "daemon/app_parts.h"
#include "daemon/listening.h"
#include "daemon/settings.h"
#include "daemon/status_line.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kStrictPatience{10};

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

}  // namespace

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
