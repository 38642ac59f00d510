// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/integrations.h"

#include <algorithm>
#include <numeric>

#include "daemon/doctor/health.h"
#include "daemon/machine/board.h"
#include "daemon/machine/build_info.h"
#include "daemon/models/model_board.h"
#include "daemon/tokens/secret_file.h"
#include "engine/base/check.h"
#include "engine/base/format.h"
#include "store/store.h"
#include "visits/names/bird_names.h"
#include "visits/names/shown_bird.h"
#include "visits/taxa.h"

namespace kinglet::daemon {
namespace {

Result<mqtt::PublisherOptions> mqtt_options(const config::Config& config) {
  const auto& wished = config.mqtt;
  mqtt::PublisherOptions options;
  options.broker = {.address = KINGLET_TRY(mqtt::parse_address(wished.url)),
                    .username = wished.username,
                    .password = secret_path(wished.password_file, "mqtt-password"),
                    .certificates = wished.certificates,
                    .client_id = wished.client_id == "auto" ? "kinglet-" + config.node.name : wished.client_id};
  options.topics = {.node = config.node.name, .prefix = wished.topic_prefix, .discovery = wished.discovery_prefix};
  for (const config::FurtherSource& one : config.further_sources) options.topics.cameras.push_back(one.source.name);
  const BoardFacts board = read_board();
  options.device = {.version = std::string(build_info().version),
                    .board = board.model.value_or(""),
                    .page = {},
                    .thermometer = board.temperature_celsius.has_value(),
                    .pictures = wished.pictures,
                    .commands = wished.commands};
  return options;
}

webhook::SenderOptions webhook_options(const config::Config& config) {
  const auto& wished = config.webhook;
  webhook::SenderOptions options{.url = wished.url,
                                 .events = {},
                                 .secret = secret_path(wished.secret_file, "webhook-secret"),
                                 .token = secret_path(wished.token_file, "webhook-token"),
                                 .certificates = wished.certificates,
                                 .timeout = wished.timeout,
                                 .delivery = {.tries = static_cast<int>(wished.tries)}};
  for (const std::string& name : wished.events) {
    std::string unknown;
    const std::optional<EventSet> set = event_set(name, unknown);
    KINGLET_CHECK(set.has_value());  // daemon/settings/settings_check.h
    options.events |= *set;
  }
  return options;
}

mqtt::Today today_of(const http::HistoryView& history, const TimeZone& zone, WallTime now) {
  mqtt::Today today{.date = zone.local_hour(now).day, .visits = 0, .species = {}};
  const auto seen = history.store.day(today.date);
  if (!seen) return today;
  for (const store::SpeciesHours& one : *seen) {
    mqtt::Today::Species species{.species_id = one.species_id, .common_name = {}, .visits = 0};
    species.visits = std::accumulate(one.visits.begin(), one.visits.end(), std::uint64_t{0});
    if (const auto model = history.models.facts()) {
      const visits::Taxa& taxa = *model->taxa;
      if (const auto index = taxa.find(one.species_id)) {
        species.common_name = taxa[*index].common_name;
      } else if (const visits::OtherBird* other = taxa.find_other(one.species_id)) {
        species.common_name = other->name;
      }
    }
    today.visits += species.visits;
    today.species.push_back(std::move(species));
  }
  return today;
}

// With the first camera's state go the figures of all.
mqtt::Figures figures_of(const http::FiguresView& figures_view, std::size_t camera) {
  const Vitals vitals = figures_view.cameras.vitals();
  const Stats& stats = camera == 0 ? figures_view.stats : figures_view.cameras.cameras[camera].stats;
  const Stats::View view = stats.view(vitals.now);
  mqtt::Figures figures{.images_per_second = view.images_per_second_1m,
                        .latency_p50_ms = {},
                        .latency_p99_ms = {},
                        .temperature_celsius = camera == 0 ? read_temperature() : std::nullopt,
                        .camera_state = std::string(to_string(vitals.cameras[camera].status.state)),
                        .paused = vitals.paused};
  if (view.latency.recent.count > 0) {
    figures.latency_p50_ms = view.latency.recent.p50_ms;
    figures.latency_p99_ms = view.latency.recent.p99_ms;
  }
  return figures;
}

// Of a camera; of the first those that are no other's. One that is open now was left by the process before.
std::optional<visits::BookedVisit> last_visit(const http::HistoryView& history, const mqtt::Topics& topics,
                                              std::size_t camera) {
  constexpr std::size_t kMostVisits = 500;
  visits::VisitQuery query{.limit = topics.cameras.empty() ? std::size_t{5} : kMostVisits};
  if (camera > 0) query.source = topics.cameras[camera - 1];
  const auto page = history.visits.list(query);
  if (!page) return std::nullopt;
  for (const visits::BookedVisit& booked : page->items) {
    if (booked.visit.state == visits::VisitState::kEnded && topics.camera_of(booked.visit.source) == camera) {
      return booked;
    }
  }
  return std::nullopt;
}

// The whole frame comes with the best picture; before it there is the first one alone.
std::optional<visits::BookedVisit> visit_with_pictures(const http::HistoryView& history, const std::string& id) {
  const auto found = history.visits.find(id);
  return found && *found && (*found)->has_frame ? *found : std::nullopt;
}

// Of a visit that has ended the best one.
std::string picture_now(const http::HistoryView& history, const std::string& id) {
  const auto found = history.visits.find(id);
  if (!found || !*found) return {};
  if ((*found)->visit.state == visits::VisitState::kEnded && !(*found)->has_frame) return {};
  return history.store.picture(id, store::Picture::kCrop).value_or(std::string());
}

std::vector<notify::Condition> health_of(const Vitals& vitals) {
  const store::StoreStatus& store = vitals.store;
  std::vector<notify::Condition> health;
  for (const CameraVitals& camera : vitals.cameras) {
    const CameraStatus& status = camera.status;
    health.push_back({.part = notify::Part::kCamera,
                      .camera = vitals.cameras.size() > 1 ? camera.name : std::string(),
                      .bad = !gives_frames(status.state) && status.state != CameraState::kStarting,
                      .detail = status.detail});
  }
  health.push_back({.part = notify::Part::kDisk,
                    .camera = {},
                    .bad = store.state != store::StoreState::kDisk && !store.memory_is_wanted,
                    .detail = store.note});
  return health;
}

// As its owner calls it, or the language does, or the model; empty: not known.
std::string name_of_bird(const http::HistoryView& history, std::string_view species_id, std::string_view language) {
  if (const auto model = history.models.facts()) {
    const visits::Taxa& taxa = *model->taxa;
    if (const auto index = taxa.find(species_id)) {
      const visits::Taxon& taxon = taxa[*index];
      const std::string_view name = visits::name_in(taxon, language);
      return name.empty() ? taxon.scientific_name : std::string(name);
    }
    if (const visits::OtherBird* other = taxa.find_other(species_id)) return other->name;
  }
  return std::string(visits::bird_name(species_id, language));
}

// The same of a species that was seen; else what a person typed, or what its visit says.
std::string name_of_seen(const http::HistoryView& history, const store::SpeciesSeen& seen, std::string_view language) {
  if (std::string name = name_of_bird(history, seen.species_id, language); !name.empty()) return name;
  if (!seen.typed.empty()) return seen.typed;
  const auto best = history.visits.find(seen.best_visit);
  const std::string name = best && *best ? visits::shown_bird((*best)->visit).common_name : std::string();
  return name.empty() ? seen.species_id : name;
}

Result<notify::Day> day_of(const http::HistoryView& history, WallTime since, WallTime until,
                           std::string_view language) {
  const std::vector<store::SpeciesSeen> species = KINGLET_TRY(history.store.species_between(since, until));
  notify::Day day;
  for (const store::SpeciesSeen& seen : species) {
    day.species.push_back({.name = name_of_seen(history, seen, language),
                           .visits = seen.visits,
                           .picture = picture_now(history, seen.best_visit)});
  }
  std::ranges::stable_sort(day.species, std::ranges::greater{}, &notify::Day::Species::visits);
  return day;
}

std::string newest_picture(const http::HistoryView& history) {
  const auto page = history.visits.list(visits::VisitQuery{.limit = 10});
  if (!page) return {};
  for (const visits::BookedVisit& one : page->items) {
    if (one.has_crop) return picture_now(history, one.visit.id);
  }
  return {};
}

std::string picture_of(const http::HistoryView& history, const std::string& id, bool best) {
  if (best && !visit_with_pictures(history, id)) return {};
  return history.store.picture(id, store::Picture::kCrop).value_or(std::string());
}

}  // namespace

Result<IntegrationOptions> integration_options(const config::Config& config) {
  IntegrationOptions options;
  options.public_url = config.http.public_url;
  if (options.public_url.ends_with('/')) options.public_url.pop_back();
  if (config.mqtt.enabled) options.mqtt = KINGLET_TRY(mqtt_options(config));
  if (!config.webhook.url.empty()) options.webhook = webhook_options(config);
  options.zone = KINGLET_TRY(TimeZone::find(config.time.zone));
  return options;
}

Result<void> forget_device(const config::Config& config) {
  if (!config.mqtt.enabled) return fail(ErrorCode::kUsage, "mqtt.enabled is false: there is no broker to ask");
  const mqtt::PublisherOptions options = KINGLET_TRY(mqtt_options(config));
  return mqtt::forget(options.broker, options.topics);
}

mqtt::Sources Integrations::mqtt_sources(const http::Views& views) const {
  const auto& history = std::get<http::HistoryView>(views);
  return {
      .events = history.events,
      .last_visit = [&history, topics = options_.mqtt->topics](
                        std::size_t camera) { return last_visit(history, topics, camera); },
      .today = [&history, zone = options_.zone, wall = options_.clock.wall] { return today_of(history, zone, wall()); },
      .figures = [&view = std::get<http::FiguresView>(views)](std::size_t camera) { return figures_of(view, camera); },
      .crop = [&history](const std::string& id) { return picture_now(history, id); },
      .set_paused = std::get<http::ControlView>(views).set_paused};
}

notify::Sources Integrations::notify_sources(const http::Views& views) const {
  const auto& history = std::get<http::HistoryView>(views);
  const auto& health = std::get<http::HealthView>(views);
  return {.events = history.events,
          .picture = [&history](const std::string& id, bool best) { return picture_of(history, id, best); },
          .health = [&health] { return health_of(health.vitals()); },
          .seen = [&history](WallTime since, WallTime until,
                             std::string_view language) { return day_of(history, since, until, language); },
          .newest_picture = [&history] { return newest_picture(history); },
          .language = [this] { return notify::language_of(language_()).value_or(notify::Language::kEnglish); }};
}

void Integrations::start(const http::Views& views, const std::string& page) {
  const std::string& url = options_.public_url.empty() ? page : options_.public_url;
  const auto& history = std::get<http::HistoryView>(views);
  if (options_.mqtt) {
    options_.mqtt->device.page = url;
    options_.mqtt->clock = options_.clock;
    publisher_.emplace(*options_.mqtt, mqtt_sources(views), log_);
  }
  if (options_.webhook) {
    options_.webhook->page = url;
    options_.webhook->clock = options_.clock;
    options_.webhook->delivery.boot_tag = history.store.boot_tag();
    sender_.emplace(
        *options_.webhook, history.events,
        [&history](const std::string& id) { return visit_with_pictures(history, id); }, log_);
  }
  notify::Place place{.page = url, .zone = options_.zone};
  place.name = [&history](std::string_view id, std::string_view language) {
    return name_of_bird(history, id, language);
  };
  notifier_.emplace(notify::NotifierOptions{.place = std::move(place), .rule = {}, .clock = options_.clock},
                    notify_sources(views), log_);
  // Not before all are made: their threads ask how all integrations are.
  if (publisher_) publisher_->start();
  if (sender_) sender_->start();
  notifier_->start();
}

void Integrations::begin_stop() {
  if (publisher_) publisher_->begin_stop();
  if (sender_) sender_->begin_stop();
  if (notifier_) notifier_->begin_stop();
}

void Integrations::stop() {
  begin_stop();
  if (publisher_) publisher_->stop();
  if (sender_) sender_->stop();
  if (notifier_) notifier_->stop();
}

std::optional<mqtt::Status> Integrations::mqtt() const {
  if (!publisher_) return std::nullopt;
  return publisher_->status();
}

std::optional<webhook::Status> Integrations::webhook() const {
  if (!sender_) return std::nullopt;
  return sender_->status();
}

std::vector<notify::Status> Integrations::notify() const {
  return notifier_ ? notifier_->status() : std::vector<notify::Status>{};
}

std::vector<const Pulse*> Integrations::pulses() const {
  std::vector<const Pulse*> pulses;
  if (publisher_) pulses.push_back(&publisher_->pulse());
  if (sender_) pulses.push_back(&sender_->pulse());
  if (notifier_) pulses.push_back(&notifier_->pulse());
  return pulses;
}

// That others are away is worth a look, never a reason to be called unwell.
std::vector<Check> Integrations::checks() const {
  std::vector<Check> checks;
  if (const auto status = mqtt()) {
    Check check{.name = "mqtt", .detail = status->detail, .since = status->since};
    if (status->state != mqtt::LinkState::kConnected) check.status = CheckStatus::kWarn;
    checks.push_back(std::move(check));
  }
  if (const auto status = webhook()) {
    Check check{.name = "webhook", .detail = status->detail, .since = status->since};
    if (!status->detail.empty()) check.status = CheckStatus::kWarn;
    checks.push_back(std::move(check));
  }
  if (const auto services = notify(); !services.empty()) {
    Check check{.name = "notify", .detail = {}, .since = services.front().since};
    const auto failing = std::ranges::find_if(services, [](const auto& one) { return !one.detail.empty(); });
    if (failing != services.end()) {
      check.status = CheckStatus::kWarn;
      check.detail = format_text("{}: {}", failing->name, failing->detail);
      check.since = failing->since;
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace kinglet::daemon
