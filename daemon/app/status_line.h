// SPDX-License-Identifier: Apache-2.0
// Why: what a person at the terminal sees once a second, and what systemctl status shows.
#pragma once

#include <optional>
#include <string>

#include "daemon/doctor/health.h"
#include "daemon/line/line_model.h"
#include "daemon/line/prediction.h"
#include "daemon/line/stats.h"

namespace kinglet::daemon {

// "Great Tit 0.93 · 10.0 images/s · 33.9 ms" or why there is nothing of the kind. `model` may be nullptr.
[[nodiscard]] std::string status_line(const Vitals& vitals, const Stats::View& stats,
                                      const std::optional<Prediction>& latest, const ModelFacts* model);

// The same without numbers that change all the time: for STATUS of the service manager.
[[nodiscard]] std::string service_status(const Vitals& vitals);

}  // namespace kinglet::daemon
