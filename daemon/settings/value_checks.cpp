// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/value_checks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "camera/source/source.h"
#include "camera/sources/open_source.h"
#include "daemon/catalogue/catalogue.h"
#include "daemon/settings/settings.h"
#include "daemon/tell/event_bus.h"
#include "daemon/values/address.h"
#include "daemon/values/mqtt_address.h"
#include "daemon/values/tls.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

// Which value it is, or all of it, and what was expected instead.
std::unexpected<Error> expected(std::string_view wanted, std::string hint = {}) {
  return fail(ErrorCode::kConfig, format_text("expected {}", wanted), {}, std::move(hint));
}
std::unexpected<Error> expected(std::string_view wanted, std::string_view value, std::string hint) {
  return fail(ErrorCode::kConfig, format_text("expected {}, not \"{}\"", wanted, printable(value, 100)), {},
              std::move(hint));
}

// "http://host" or "https://host/path".
bool is_web_address(std::string_view text) {
  const bool plain = text.starts_with("http://");
  const std::size_t host = plain ? 7 : 8;
  return (plain || text.starts_with("https://")) && text.size() > host && text[host] != '/' &&
         std::ranges::all_of(text, is_visible);
}

bool is_name_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

bool is_host(std::string_view host) {
  if (host.starts_with('[')) return host.ends_with(']') && http::parse_address(host).has_value();
  return !host.empty() && host.size() <= 253 && std::ranges::all_of(host, is_name_letter);
}

Result<void> check_allowed_hosts(const config::Config& config) {
  for (const std::string& host : config.http.allowed_hosts) {
    if (is_host(host)) continue;
    return expected("names without port, such as birds.example", host,
                    host.contains('*') ? "each name stands for itself: *, which would be all names, is what this "
                                         "protects against"
                                       : "as it stands in the browser's address, without http:// and without :8420");
  }
  return {};
}

// Exactly as browsers write it in the header Origin.
bool is_origin(std::string_view text) {
  const bool plain = text.starts_with("http://");
  if (!plain && !text.starts_with("https://")) return false;
  text.remove_prefix(plain ? 7 : 8);
  const std::size_t bracket = text.starts_with('[') ? std::min(text.find(']'), text.size()) : 0;
  const std::size_t colon = text.find(':', bracket);
  if (colon != std::string_view::npos) {
    const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
    if (!port || *port == (plain ? 80 : 443)) return false;
  }
  const std::string_view host = text.substr(0, colon);
  return is_host(host) && std::ranges::none_of(host, [](unsigned char c) { return std::isupper(c) != 0; });
}

Result<void> check_allowed_origins(const config::Config& config) {
  for (const std::string& origin : config.http.allowed_origins) {
    if (is_origin(origin)) continue;
    return expected("pages such as https://birds.example or http://192.168.1.9:8080", origin,
                    "as the browser sends it: http:// or https://, the name in small letters, the port where it is "
                    "not 80 or 443, no path and no slash at the end");
  }
  return {};
}

Result<void> check_trusted_proxies(const config::Config& config) {
  for (const std::string& text : config.http.trusted_proxies) {
    if (!http::parse_network(text)) return expected("addresses such as 192.168.1.2 or 10.0.0.0/24", text, {});
  }
  return {};
}

Result<void> check_public_url(const config::Config& config) {
  const std::string& url = config.http.public_url;
  if (url.empty() || is_web_address(url)) return {};
  return expected("an address such as http://feeder.local:8420, or \"\"");
}

Result<void> check_tls(const config::Config& config) {
  const auto& [certificate, key] = std::pair(config.http.tls_certificate, config.http.tls_key);
  if (certificate.empty() && key.empty()) return {};
  KINGLET_TRY(http::Tls::open(certificate, key));
  return {};
}

Result<void> check_broker(const config::Config& config) {
  if (config.mqtt.enabled) KINGLET_TRY(mqtt::parse_address(config.mqtt.url));
  return {};
}

// A part of a topic that everybody may subscribe to by name.
bool is_prefix(const std::string& text) {
  const auto strange = [](char c) { return !is_visible(c) || c == '#' || c == '+' || c == '$'; };
  return !text.starts_with('/') && !text.ends_with('/') && text.size() <= 100 && std::ranges::none_of(text, strange);
}

Result<void> check_topic_prefix(const config::Config& config) {
  const std::string& prefix = config.mqtt.topic_prefix;
  if (is_prefix(prefix) && !prefix.empty()) return {};
  return expected("letters and digits, such as \"kinglet\" or \"home/kinglet\"");
}

Result<void> check_discovery_prefix(const config::Config& config) {
  if (is_prefix(config.mqtt.discovery_prefix)) return {};
  return expected("letters and digits, such as \"homeassistant\", or \"\"");
}

// Brokers close the connection of who has another one, again and again.
Result<void> check_client_id(const config::Config& config) {
  const std::string& name = config.mqtt.client_id;
  if (!name.empty() && name.size() <= 100 && std::ranges::all_of(name, is_visible)) return {};
  return expected("a name without blanks, of at most 100 letters and digits, or \"auto\"");
}

// Its path may be a secret.
Result<void> check_webhook(const config::Config& config) {
  if (config.webhook.url.empty() || is_web_address(config.webhook.url)) return {};
  return expected("http:// or https://, a host, a path");
}

Result<void> check_webhook_events(const config::Config& config) {
  for (const std::string& name : config.webhook.events) {
    std::string unknown;
    if (event_set(name, unknown)) continue;
    std::string known;
    for (const std::string_view one : event_names()) known += format_text("{}{}", known.empty() ? "" : ", ", one);
    return expected("names of events", unknown, "known: " + known);
  }
  return {};
}

Result<void> check_source(const config::Config& config) {
  const std::string& spec = config.source.spec;
  if (spec == "auto" || camera::find_source(spec) != nullptr) return {};
  return expected("one of auto, " + camera::known_schemes(), camera::scheme_hint(spec));
}

Result<void> check_rotation(const config::Config& config) {
  if (config.camera.rotation % 90 == 0) return {};
  return expected("0, 90, 180 or 270");
}

Result<void> check_zone(const config::Config& config) {
  KINGLET_TRY(zone_of(config));
  return {};
}

Result<void> check_hours(const config::Config& config) {
  // A zone that is none is a fault of its own.
  if (zone_of(config)) KINGLET_TRY(schedule_of(config));
  return {};
}

Result<void> check_propose(const config::Config& config) {
  KINGLET_TRY(region_options(config));
  return {};
}

Result<void> check_region(const config::Config& config) {
  if (config.decide.region.empty()) return {};
  config::Config alone = config;
  alone.decide.region_overrides.clear();
  KINGLET_TRY(region_of(alone));
  return {};
}

Result<void> check_region_overrides(const config::Config& config) {
  if (config.decide.region_overrides.empty()) return {};
  config::Config alone = config;
  if (!config.decide.region.empty()) alone.decide.region = config.decide.region_overrides;
  alone.decide.region_overrides = config.decide.region.empty() ? config.decide.region_overrides : "";
  KINGLET_TRY(region_of(alone));
  return {};
}

Result<void> check_catalogue(const config::Config& config) {
  KINGLET_TRY(read_catalogue(config.model.catalogue));
  return {};
}

Result<void> check_people(const config::Config& config) {
  if (config.privacy.people != "hide" || !config.detector.path.empty()) return {};
  return expected("a detector as well, which finds them", "set detector.path (docs/detector.md)");
}

struct Row {
  std::string_view key;
  Reads reads;
  Result<void> (*check)(const config::Config& config);
};

constexpr std::array<Row, 20> kRows{{
    {"time.zone", Reads::kNothing, check_zone},
    {"source.spec", Reads::kNothing, check_source},
    {"camera.rotation", Reads::kNothing, check_rotation},
    {"gate.hours", Reads::kNothing, check_hours},
    {"look.propose", Reads::kNothing, check_propose},
    {"model.catalogue", Reads::kFiles, check_catalogue},
    {"decide.region", Reads::kFiles, check_region},
    {"decide.region_overrides", Reads::kFiles, check_region_overrides},
    {"privacy.people", Reads::kNothing, check_people},
    {"http.public_url", Reads::kNothing, check_public_url},
    {"http.trusted_proxies", Reads::kNothing, check_trusted_proxies},
    {"http.allowed_hosts", Reads::kNothing, check_allowed_hosts},
    {"http.allowed_origins", Reads::kNothing, check_allowed_origins},
    {"http.tls_certificate", Reads::kFiles, check_tls},
    {"mqtt.url", Reads::kNothing, check_broker},
    {"mqtt.client_id", Reads::kNothing, check_client_id},
    {"mqtt.topic_prefix", Reads::kNothing, check_topic_prefix},
    {"mqtt.discovery_prefix", Reads::kNothing, check_discovery_prefix},
    {"webhook.url", Reads::kNothing, check_webhook},
    {"webhook.events", Reads::kNothing, check_webhook_events},
}};

// What is a camera's is checked of each; the first one's keys have rows.
void check_further_sources(const config::Config& config, std::vector<Misfit>& misfits) {
  for (std::size_t i = 1; i < config::camera_count(config); ++i) {
    const config::Config own = config::of_camera(config, i);
    const auto note = [&](const char* key, Result<void> checked) {
      if (!checked) misfits.push_back({.key = key, .error = std::move(checked).error(), .camera = i});
    };
    note("source.spec",
         own.source.spec == "auto"
             ? expected("a source of its own", "auto is for the first camera: it takes the first there is")
             : check_source(own));
    note("source.rotation", check_rotation(own));
  }
}

}  // namespace

std::vector<Misfit> misfits_of(const config::Config& config, Reads most) {
  std::vector<Misfit> misfits;
  for (const Row& row : kRows) {
    if (row.reads > most) continue;
    if (Result<void> checked = row.check(config); !checked) {
      misfits.push_back({.key = row.key, .error = std::move(checked).error()});
    }
  }
  check_further_sources(config, misfits);
  return misfits;
}

}  // namespace kinglet::daemon
