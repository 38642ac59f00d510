// SPDX-License-Identifier: Apache-2.0
#include "daemon/mqtt/payloads.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/tell/visit_json.h"
#include "engine/base/format.h"

namespace kinglet::daemon::mqtt {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNode = "node";  // in the figures of a camera after the first

// The entities of one device, in their order; of a camera after the first with its name.
class Entities {
 public:
  explicit Entities(const Topics& topics) : topics_(topics) {}

  // Those to come are of this camera.
  void begin_camera(std::size_t index) { camera_ = index; }
  Json& add(const char* key, const char* platform, const char* name) {
    if (camera_ == 0) {
      return list_[key] = {
                 {"p", platform}, {"unique_id", format_text("kinglet_{}_{}", topics_.node, key)}, {"name", name}};
    }
    const std::string& camera = topics_.cameras[camera_ - 1];
    return list_[format_text("{}-{}", camera, key)] = {
               {"p", platform},
               {"unique_id", format_text("kinglet_{}-{}_{}", topics_.node, camera, key)},
               {"name", format_text("{} ({})", name, camera)}};
  }
  // One whose state is a part of a message of ours.
  Json& add_state(const char* key, const char* platform, const char* name, const char* topic, const char* value) {
    Json& entity = add(key, platform, name);
    entity["state_topic"] = topic_of(topic);
    entity["value_template"] = value;
    return entity;
  }
  // A number that may be missing from the message.
  Json& add_figure(const char* key, const char* name, const char* topic, const std::string& member, const char* unit) {
    Json& entity =
        add_state(key, "sensor", name, topic, format_text("{{{{ value_json.{} | default(none) }}}}", member).c_str());
    if (*unit != '\0') entity["unit_of_measurement"] = unit;
    entity["state_class"] = "measurement";
    return entity;
  }
  [[nodiscard]] std::string topic_of(std::string_view rest) const { return topics_.of_camera(camera_, rest); }
  [[nodiscard]] Json take() { return std::move(list_); }

 private:
  const Topics& topics_;
  std::size_t camera_ = 0;
  Json list_ = Json::object();
};

void add_visits(Entities& entities) {
  // What is not in event_types is an empty text, which is no event.
  Json& visit =
      entities.add_state("visit", "event", "Visit", "event/visit",
                         "{% if value_json.type in ['visit.start', 'visit.end'] %}{{ dict(event_type=value_json.type, "
                         "species_id=value_json.visit.species_id, name=value_json.visit.common_name | default(''), "
                         "score=value_json.visit.model_result.score, count=value_json.visit.count, "
                         "id=value_json.visit.id) | tojson }}{% endif %}");
  visit["event_types"] = {"visit.start", "visit.end"};
  visit["icon"] = "mdi:bird";
  Json& species = entities.add_state("species", "sensor", "Last species", "state/visit",
                                     "{{ value_json.common_name | default(value_json.species_id, true) }}");
  species["json_attributes_topic"] = entities.topic_of("state/visit");
  species["icon"] = "mdi:bird";
  Json& score = entities.add_figure("score", "Last score", "state/visit", "model_result.score", "");
  score["entity_category"] = "diagnostic";
  score["suggested_display_precision"] = 2;
}

void add_today(Entities& entities) {
  entities.add_figure("visits_today", "Visits today", "state/today", "visits", "")["icon"] = "mdi:counter";
  Json& kinds = entities.add_figure("species_today", "Species today", "state/today", "species_count", "");
  kinds["json_attributes_topic"] = entities.topic_of("state/today");
  kinds["icon"] = "mdi:bird";
}

void add_presence(Entities& entities) {
  entities.add_state("present", "binary_sensor", "Bird present", "state/visit",
                     "{{ 'ON' if value_json.state == 'open' else 'OFF' }}")["device_class"] = "occupancy";
}

void add_health(Entities& entities, const Device& device) {
  Json& rate =
      entities.add_figure("images_per_second", "Images per second", "state/stats", "images_per_second", "img/s");
  rate["entity_category"] = "diagnostic";
  rate["suggested_display_precision"] = 1;
  Json& latency = entities.add_figure("latency", "Latency", "state/stats", "latency_p50_ms", "ms");
  latency["device_class"] = "duration";
  latency["entity_category"] = "diagnostic";
  latency["suggested_display_precision"] = 0;
  if (device.thermometer) {
    Json& temperature = entities.add_figure("temperature", "Temperature", "state/stats", "temperature_celsius", "°C");
    temperature["device_class"] = "temperature";
    temperature["entity_category"] = "diagnostic";
  }
}

void add_camera_problem(Entities& entities) {
  Json& camera = entities.add_state("camera_problem", "binary_sensor", "Camera", "state/stats",
                                    "{{ 'OFF' if value_json.camera_state in ['streaming', 'paused'] else 'ON' }}");
  camera["device_class"] = "problem";
  camera["entity_category"] = "diagnostic";
}

void add_picture(Entities& entities) {
  Json& picture = entities.add("picture", "image", "Last bird");
  picture["image_topic"] = entities.topic_of("picture/last");
  picture["content_type"] = "image/jpeg";
}

// Of one after the first.
void add_camera(Entities& entities, bool pictures) {
  add_visits(entities);
  add_presence(entities);
  add_camera_problem(entities);
  if (pictures) add_picture(entities);
}

void remove_cameras(const Topics& topics, std::span<const std::string> gone, Json& components) {
  Topics before = topics;
  before.cameras.assign(gone.begin(), gone.end());
  Entities entities(before);
  for (std::size_t i = 1; i <= gone.size(); ++i) {
    entities.begin_camera(i);
    add_camera(entities, true);
  }
  const Json removed = entities.take();
  for (const auto& [key, entity] : removed.items()) components[key] = {{"p", entity["p"]}};
}

bool is_said_by(const std::string& node, std::string_view stats) {
  const Json said = Json::parse(stats, nullptr, /*allow_exceptions=*/false);
  return said.is_object() && said.contains(kNode) && said[kNode] == node;
}

}  // namespace

std::string Topics::base() const { return format_text("{}/{}", prefix, node); }
std::string Topics::own(std::string_view rest) const { return format_text("{}/{}", base(), rest); }
std::string Topics::of_camera(std::size_t index, std::string_view rest) const {
  return index == 0 ? own(rest) : own(format_text("{}/{}", cameras[index - 1], rest));
}
std::size_t Topics::camera_of(std::string_view source) const {
  const auto found = std::ranges::find(cameras, source);
  return found == cameras.end() ? 0 : static_cast<std::size_t>(found - cameras.begin()) + 1;
}
std::string Topics::of_any_camera() const { return own("+/state/stats"); }
std::optional<std::string> Topics::gone_camera(std::string_view topic, std::string_view payload) const {
  constexpr std::size_t kLongest = 64;
  const std::string before = own("");
  constexpr std::string_view kAfter = "/state/stats";
  if (!topic.starts_with(before) || !topic.ends_with(kAfter) || topic.size() <= before.size() + kAfter.size())
    return std::nullopt;
  const std::string_view name = topic.substr(before.size(), topic.size() - before.size() - kAfter.size());
  const auto is_of_name = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (name.size() > kLongest || !std::ranges::all_of(name, is_of_name)) return std::nullopt;
  if (!is_said_by(base(), payload)) return std::nullopt;
  return std::ranges::contains(cameras, name) ? std::nullopt : std::optional(std::string(name));
}
std::string Topics::discovery_config() const { return format_text("{}/device/kinglet_{}/config", discovery, node); }
std::string Topics::birth() const { return discovery + "/status"; }

std::string discovery_payload(const Topics& topics, const Device& device, std::span<const std::string> gone) {
  Json about{{"ids", {"kinglet_" + topics.node}},
             {"name", "kinglet " + topics.node},
             {"mf", "kinglet"},
             {"mdl", "Bird camera"},
             {"sw", device.version}};
  if (!device.board.empty()) about["hw"] = device.board;
  if (!device.page.empty()) about["cu"] = device.page;

  Entities entities(topics);
  add_visits(entities);
  add_today(entities);
  add_presence(entities);
  add_health(entities, device);
  add_camera_problem(entities);
  if (device.pictures) add_picture(entities);
  if (device.commands) {
    Json& pause =
        entities.add_state("pause", "switch", "Pause", "state/stats", "{{ 'ON' if value_json.paused else 'OFF' }}");
    pause["command_topic"] = topics.own("command/pause");
    pause["entity_category"] = "config";
    pause["icon"] = "mdi:pause";
  }
  for (std::size_t i = 1; i <= topics.cameras.size(); ++i) {
    entities.begin_camera(i);
    add_camera(entities, device.pictures);
  }
  Json components = entities.take();
  remove_cameras(topics, gone, components);
  return Json{{"dev", std::move(about)},
              {"o", {{"name", "kinglet"}, {"sw", device.version}}},
              {"avty_t", topics.own("status")},
              {"qos", 1},
              {"cmps", std::move(components)}}
      .dump();
}

std::string stats_payload(const Figures& figures, std::string_view node) {
  Json json = Json::object();
  const auto set = [&](const char* name, const std::optional<double>& value, double scale) {
    if (value) json[name] = std::round(*value * scale) / scale;
  };
  set("images_per_second", figures.images_per_second, 100);
  set("latency_p50_ms", figures.latency_p50_ms, 1000);
  set("latency_p99_ms", figures.latency_p99_ms, 1000);
  set("temperature_celsius", figures.temperature_celsius, 10);
  json["camera_state"] = figures.camera_state;
  json["paused"] = figures.paused;
  if (!node.empty()) json[kNode] = node;
  return json.dump();
}

std::string today_payload(const Today& today) {
  Json species = Json::array();
  for (const Today::Species& one : today.species) {
    Json item{{"species_id", one.species_id}};
    if (!one.common_name.empty()) item["common_name"] = one.common_name;
    item["visits"] = one.visits;
    species.push_back(std::move(item));
  }
  return Json{{"date", today.date},
              {"visits", today.visits},
              {"species_count", today.species.size()},
              {"species", std::move(species)}}
      .dump();
}

std::string gap_payload(std::uint64_t missed) {
  return Json{{"type", to_string(EventType::kGap)}, {"missed", missed}}.dump();
}

std::string visit_payload(const visits::BookedVisit& booked) { return visit_json(booked).dump(); }

}  // namespace kinglet::daemon::mqtt
