// SPDX-License-Identifier: Apache-2.0
// Why: what MQTT, webhooks and phones are told of the history and of how the daemon is, each in its own values. It is
// asked on their threads; `views` outlive those.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/routes/views.h"
#include "daemon/mqtt/publisher.h"
#include "daemon/notify/notifier.h"
#include "engine/base/local_time.h"

namespace kinglet::daemon {

// `wall`: whose day is today, in this zone.
[[nodiscard]] mqtt::Sources mqtt_sources(const http::Views& views, const mqtt::Topics& topics, const TimeZone& zone,
                                         const std::function<WallTime()>& wall);
// `language`: of messages to people, from now on.
[[nodiscard]] notify::Sources notify_sources(const http::Views& views, const std::function<std::string()>& language);

// The whole frame comes with the best picture; before it there is the first one alone.
[[nodiscard]] std::optional<visits::BookedVisit> visit_with_pictures(const http::HistoryView& history,
                                                                     const std::string& id);
// As its owner calls it, or the language does, or the model; empty: not known.
[[nodiscard]] std::string name_of_bird(const http::HistoryView& history, std::string_view species_id,
                                       std::string_view language);

}  // namespace kinglet::daemon
