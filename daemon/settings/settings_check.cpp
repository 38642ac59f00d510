// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/settings_check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include "camera/source/source.h"
#include "camera/sources/open_source.h"
#include "daemon/catalogue/catalogue.h"
#include "daemon/settings/notify_settings.h"
#include "daemon/settings/settings.h"
#include "daemon/settings/settings_file.h"
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
         std::ranges::all_of(text, [](char c) { return c > ' ' && c != '\x7F'; });
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
  const auto strange = [](char c) { return c <= ' ' || c == '#' || c == '+' || c == '$' || c == '\x7F'; };
  return !text.starts_with('/') && !text.ends_with('/') && text.size() <= 100 && std::ranges::none_of(text, strange);
}

Result<void> check_topic_prefix(const config::Config& config) {
  const std::string& prefix = config.mqtt.topic_prefix;
  if (!config.mqtt.enabled || (is_prefix(prefix) && !prefix.empty())) return {};
  return expected("letters and digits, such as \"kinglet\" or \"home/kinglet\"");
}

Result<void> check_discovery_prefix(const config::Config& config) {
  if (!config.mqtt.enabled || is_prefix(config.mqtt.discovery_prefix)) return {};
  return expected("letters and digits, such as \"homeassistant\", or \"\"");
}

// Its path may be a secret.
Result<void> check_webhook(const config::Config& config) {
  if (config.webhook.url.empty() || is_web_address(config.webhook.url)) return {};
  return expected("http:// or https://, a host, a path");
}

Result<void> check_webhook_events(const config::Config& config) {
  if (config.webhook.url.empty()) return {};
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

enum class Reads : std::uint8_t { kNothing, kFiles };
struct Row {
  std::string_view key;
  Reads reads;
  Result<void> (*check)(const config::Config& config);
};

constexpr std::array<Row, 18> kRows{{
    {"time.zone", Reads::kNothing, check_zone},
    {"source.spec", Reads::kNothing, check_source},
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
    {"mqtt.topic_prefix", Reads::kNothing, check_topic_prefix},
    {"mqtt.discovery_prefix", Reads::kNothing, check_discovery_prefix},
    {"webhook.url", Reads::kNothing, check_webhook},
    {"webhook.events", Reads::kNothing, check_webhook_events},
}};

// "KEY = VALUE: what is wrong", where it was set.
Error fault_of(std::string_view name, Error error, const config::Loaded& loaded) {
  const auto& table = config::key_table();
  const auto key = std::ranges::find(table, name, &config::Key::full_name);
  // Addresses of others may hold a login or be a secret as a whole.
  const bool secret = name == "mqtt.url" || name == "webhook.url" || name == "source.spec";
  const std::string_view told = name == "source.spec" && loaded.source_is_text ? "source" : name;
  const std::string value = secret ? "..." : printable(config::toml_text(key->value(loaded.config)), 100);
  std::string hint = std::exchange(error.hint, {});
  return {.code = ErrorCode::kConfig,
          .message = format_text("{} = {}: {}", told, value, describe(error)),
          .where = loaded.places.at(static_cast<std::size_t>(key - table.begin())),
          .hint = std::move(hint)};
}

// What is a camera's is checked of each; the first one's keys have rows.
void check_further_sources(const config::Config& config, config::Faults& faults) {
  for (std::size_t i = 1; i < config::camera_count(config); ++i) {
    const config::Config own = config::of_camera(config, i);
    const auto note = [&](const char* what, Result<void> checked) {
      if (checked) return;
      Error error = std::move(checked).error();
      std::string hint = std::exchange(error.hint, {});
      faults.push_back({ErrorCode::kConfig, format_text("{} of {}: {}", what, own.source.name, describe(error)),
                        config.further_sources[i - 1].place, std::move(hint)});
    };
    note("source.spec",
         own.source.spec == "auto"
             ? expected("a source of its own", "auto is for the first camera: it takes the first there is")
             : check_source(own));
  }
}

config::Faults faults_of(const config::Loaded& loaded, Reads most) {
  config::Faults faults;
  for (const Row& row : kRows) {
    if (row.reads > most) continue;
    if (Result<void> checked = row.check(loaded.config); !checked) {
      faults.push_back(fault_of(row.key, std::move(checked).error(), loaded));
    }
  }
  check_further_sources(loaded.config, faults);
  if (auto wishes = notify_wishes(loaded.config.notify); !wishes) {
    std::ranges::move(wishes.error(), std::back_inserter(faults));
  }
  return faults;
}

using Loading = std::expected<config::Loaded, config::Faults>;

Loading judged(Loading loaded) {
  if (!loaded) return loaded;
  config::Faults faults = faults_of(*loaded, Reads::kFiles);
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return loaded;
}

Loading unjudged(Loading loaded) { return loaded; }

std::filesystem::path folder_of(const config::Config& config, const std::filesystem::path& else_folder) {
  std::filesystem::path folder = state_folder_of(config);
  return folder.empty() ? else_folder : folder;
}

// What the owner's files say, and then the same with the settings.
std::expected<Usable, config::Faults> usable(const config::LoadOptions& options,
                                             const std::filesystem::path& else_folder, Loading (*judge)(Loading)) {
  Loading plain = config::load(options);
  if (!plain) return std::unexpected(std::move(plain.error()));
  const std::filesystem::path folder = folder_of(plain->config, else_folder);
  Result<std::optional<config::SettingsText>> text = read_settings(folder);
  std::string trouble = text ? std::string() : describe(text.error());
  if (text && *text) {
    config::LoadOptions with = options;
    with.settings = std::move(**text);
    Loading loaded = judge(config::load(with));
    if (loaded) return Usable{.loaded = std::move(*loaded), .folder = folder, .trouble = {}};
    trouble = describe(loaded.error().front());
  }
  plain = judge(std::move(plain));
  if (!plain) return std::unexpected(std::move(plain.error()));
  return Usable{.loaded = std::move(*plain), .folder = folder, .trouble = std::move(trouble)};
}

}  // namespace

std::expected<config::Loaded, config::Faults> load_settings(config::LoadOptions options,
                                                            const std::filesystem::path& else_folder) {
  std::string hidden;
  if (!options.settings) {
    const Loading plain = config::load(options);
    if (!plain) return plain;
    auto text = read_settings(folder_of(plain->config, else_folder));
    if (text) {
      options.settings = std::move(*text);
    } else if (text.error().code != ErrorCode::kNotPermitted) {
      return std::unexpected(config::Faults{std::move(text).error()});
    } else {
      hidden = "what was set on the page is not known: " + describe(text.error()) + "; " + text.error().hint;
    }
  }
  Loading loaded = judged(config::load(options));
  if (loaded && !hidden.empty()) loaded->warnings.push_back(hidden);
  return loaded;
}

std::expected<Usable, config::Faults> load_usable_settings(const config::LoadOptions& options) {
  return usable(options, {}, judged);
}

std::expected<Usable, config::Faults> load_usable_values(const config::LoadOptions& options,
                                                         const std::filesystem::path& else_folder) {
  return usable(options, else_folder, unjudged);
}

std::optional<Error> fault_of_detector(const config::Loaded& loaded) {
  const LineDetectorOptions options = line_detector_options(loaded.config);
  if (options.model.empty()) return std::nullopt;
  auto detector = LineDetector::open(options);
  if (!detector) return fault_of("detector.path", std::move(detector).error(), loaded);
  if (loaded.config.privacy.people == "show" || (*detector)->knows(Being::kPerson)) return std::nullopt;
  return fault_of("privacy.people",
                  {.code = ErrorCode::kConfig,
                   .message = "the detector's labels have no \"person\"",
                   .where = {},
                   .hint = "name a detector that finds people, or the labels that belong to it (detector.labels)"},
                  loaded);
}

config::Faults faults_of_text(std::string_view toml, const std::filesystem::path& name) {
  const auto loaded = config::load_text(toml, name);
  return loaded ? faults_of(*loaded, Reads::kNothing) : loaded.error();
}

}  // namespace kinglet::daemon
