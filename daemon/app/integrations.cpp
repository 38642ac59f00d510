// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/integrations.h"

#include <algorithm>

#include "daemon/app/integration_sources.h"
#include "daemon/machine/board.h"
#include "daemon/machine/build_info.h"
#include "daemon/tokens/secret_file.h"
#include "engine/base/check.h"
#include "engine/base/format.h"
#include "store/store.h"

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

void Integrations::start(const http::Views& views, const std::string& page) {
  const std::string& url = options_.public_url.empty() ? page : options_.public_url;
  const auto& history = std::get<http::HistoryView>(views);
  if (options_.mqtt) {
    options_.mqtt->device.page = url;
    options_.mqtt->clock = options_.clock;
    publisher_.emplace(*options_.mqtt, mqtt_sources(views, options_.mqtt->topics, options_.zone, options_.clock.wall),
                       log_);
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
                    notify_sources(views, language_), log_);
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
