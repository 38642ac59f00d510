// SPDX-License-Identifier: Apache-2.0
// Why: every topic and every message of ours, as values: what Home Assistant is told of this device, and its states.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/tell/event_bus.h"

namespace kinglet::daemon::mqtt {

// All names under which this device speaks.
struct Topics {
  std::string node;                         // [a-z0-9_]
  std::string prefix = "kinglet";           // of our own
  std::string discovery = "homeassistant";  // Home Assistant's
  std::vector<std::string> cameras = {};    // the names of those after the first, each below its own

  [[nodiscard]] std::string base() const;                      // "kinglet/feeder"
  [[nodiscard]] std::string own(std::string_view rest) const;  // "kinglet/feeder/state/visit"
  // The same of one camera: of the first as own().
  [[nodiscard]] std::string of_camera(std::size_t index,
                                      std::string_view rest) const;    // "kinglet/feeder/tree/state/visit"
  [[nodiscard]] std::size_t camera_of(std::string_view source) const;  // drawn frames: the first
  [[nodiscard]] std::string of_any_camera() const;  // what matches a message that is kept of each after the first
  // The name of the camera of which this is that message, if it was ours and there is none of that name. The topic
  // alone does not tell: another device's may begin with our base().
  [[nodiscard]] std::optional<std::string> gone_camera(std::string_view topic, std::string_view payload) const;
  [[nodiscard]] std::string discovery_config() const;  // "homeassistant/device/kinglet_feeder/config"
  [[nodiscard]] std::string birth() const;             // what Home Assistant says when it starts
};

struct Device {
  std::string version;
  std::string board;  // may be empty
  std::string page;   // where people open it; may be empty
  bool thermometer = false;
  bool pictures = false;
  bool commands = false;
};

// What is kept of a camera, behind of_camera(). Last what of_any_camera() matches: whoever is cut off while all is
// taken back finds it again.
inline constexpr const char* kKeptOfCamera[] = {"state/visit", "picture/last", "state/stats"};

// Home Assistant's device message (MQTT discovery, since 2024.12). Components of cameras in `gone`, which are there no
// more, have nothing but their platform: Home Assistant then removes them. Every unique_id is kinglet_NODE_KEY for
// ever, of a camera after the first kinglet_NODE-CAMERA_KEY: no node's name has a hyphen.
[[nodiscard]] std::string discovery_payload(const Topics& topics, const Device& device,
                                            std::span<const std::string> gone = {});

struct Figures {
  std::optional<double> images_per_second;
  std::optional<double> latency_p50_ms;
  std::optional<double> latency_p99_ms;
  std::optional<double> temperature_celsius;
  std::string camera_state;
  bool paused = false;  // by somebody, all cameras: also where this one gives no frames
};
// `node`: base() of who says so, of a camera after the first; of the first nothing.
[[nodiscard]] std::string stats_payload(const Figures& figures, std::string_view node = {});

struct Today {
  struct Species {
    std::string species_id;
    std::string common_name;  // may be empty
    std::uint64_t visits = 0;
  };
  std::string date;
  std::uint64_t visits = 0;
  std::vector<Species> species;
};
[[nodiscard]] std::string today_payload(const Today& today);

[[nodiscard]] std::string gap_payload(std::uint64_t missed);  // {"type":"gap","missed":12}
[[nodiscard]] std::string visit_payload(const visits::BookedVisit& booked);

}  // namespace kinglet::daemon::mqtt
