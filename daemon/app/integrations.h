// SPDX-License-Identifier: Apache-2.0
// Why: who tells others without being asked: MQTT, webhooks and phones, as the configuration wishes; their life, and
// how they are. What they tell: integration_sources.h.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/config.h"
#include "daemon/doctor/health.h"
#include "daemon/http/routes/views.h"
#include "daemon/mqtt/publisher.h"
#include "daemon/notify/notifier.h"
#include "daemon/webhook/sender.h"
#include "engine/base/local_time.h"

namespace kinglet::daemon {

struct IntegrationOptions {
  std::optional<mqtt::PublisherOptions> mqtt;  // nothing: not wished
  std::optional<webhook::SenderOptions> webhook;
  TimeZone zone;
  Clock clock = {};        // of all of them, and of the events that they hear
  std::string public_url;  // without "/" at its end; empty: found out
};
// kConfig: an address or a name that cannot be.
[[nodiscard]] Result<IntegrationOptions> integration_options(const config::Config& config);

// Takes back what the broker keeps of this device; blocks for some seconds. kUsage: MQTT is not enabled.
[[nodiscard]] Result<void> forget_device(const config::Config& config);

// Thread-safe but for start() and stop(), which belong to the owner.
class Integrations {
 public:
  // `language`: of messages to people, from now on.
  Integrations(IntegrationOptions options, std::function<std::string()> language, LogSink log)
      : options_(std::move(options)), language_(std::move(language)), log_(std::move(log)) {}

  // `views` outlive stop(). `page`: where people open the page, unless the configuration says so.
  void start(const http::Views& views, const std::string& page);
  void begin_stop();  // waits for nothing
  void stop();

  // Nothing: not wished. Other threads than those it starts ask only after start().
  [[nodiscard]] std::optional<mqtt::Status> mqtt() const;
  [[nodiscard]] std::optional<webhook::Status> webhook() const;
  [[nodiscard]] std::vector<notify::Status> notify() const;  // of each service
  // After start().
  [[nodiscard]] notify::Notifier& notifier() { return *notifier_; }
  [[nodiscard]] std::vector<Check> checks() const;
  [[nodiscard]] std::vector<const Pulse*> pulses() const;  // of their threads

 private:
  IntegrationOptions options_;
  const std::function<std::string()> language_;
  const LogSink log_;
  std::optional<mqtt::Publisher> publisher_;
  std::optional<webhook::Sender> sender_;
  std::optional<notify::Notifier> notifier_;
};

}  // namespace kinglet::daemon
