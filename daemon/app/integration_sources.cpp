// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/integration_sources.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "daemon/doctor/health.h"
#include "daemon/machine/board.h"
#include "daemon/models/model_board.h"
#include "store/store.h"
#include "visits/names/bird_names.h"
#include "visits/names/shown_bird.h"
#include "visits/taxa.h"

namespace kinglet::daemon {
namespace {

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

// Of a camera; of the first that of no other. One that is open now was left by the process before.
std::optional<visits::BookedVisit> last_visit(const http::HistoryView& history, const mqtt::Topics& topics,
                                              std::size_t camera) {
  visits::VisitQuery query{.limit = 1, .ended = true};
  if (camera > 0) {
    query.source = topics.cameras[camera - 1];
  } else {
    query.but_for = topics.cameras;
  }
  auto page = history.visits.list(query);
  if (!page || page->items.empty()) return std::nullopt;
  return std::move(page->items.front());
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

// As name_of_bird() has it; else what a person typed, or what its visit says.
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

std::optional<visits::BookedVisit> visit_with_pictures(const http::HistoryView& history, const std::string& id) {
  const auto found = history.visits.find(id);
  return found && *found && (*found)->has_frame ? *found : std::nullopt;
}

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

mqtt::Sources mqtt_sources(const http::Views& views, const mqtt::Topics& topics, const TimeZone& zone,
                           const std::function<WallTime()>& wall) {
  const auto& history = std::get<http::HistoryView>(views);
  return {
      .events = history.events,
      .last_visit = [&history, topics](std::size_t camera) { return last_visit(history, topics, camera); },
      .today = [&history, zone, wall] { return today_of(history, zone, wall()); },
      .figures = [&view = std::get<http::FiguresView>(views)](std::size_t camera) { return figures_of(view, camera); },
      .crop = [&history](const std::string& id) { return picture_now(history, id); },
      .set_paused = std::get<http::ControlView>(views).set_paused};
}

notify::Sources notify_sources(const http::Views& views, const std::function<std::string()>& language) {
  const auto& history = std::get<http::HistoryView>(views);
  const auto& health = std::get<http::HealthView>(views);
  return {.events = history.events,
          .picture = [&history](const std::string& id, bool best) { return picture_of(history, id, best); },
          .health = [&health] { return health_of(health.vitals()); },
          .seen = [&history](WallTime since, WallTime until,
                             std::string_view code) { return day_of(history, since, until, code); },
          .newest_picture = [&history] { return newest_picture(history); },
          .language = [language] { return notify::language_of(language()).value_or(notify::Language::kEnglish); }};
}

}  // namespace kinglet::daemon
