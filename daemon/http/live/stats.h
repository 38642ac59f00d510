// SPDX-License-Identifier: Apache-2.0
// Why: the figures and the camera's state in one form, asked for and told as events.
#pragma once

#include "daemon/http/routes/context.h"
#include "daemon/http/routes/json.h"

namespace kinglet::daemon::http {

[[nodiscard]] Json stats_json(const Context& context);
// Around what the model has looked at within the last seconds.
[[nodiscard]] std::optional<Mark> newest_mark(const Context& context);
[[nodiscard]] Json camera_json(const Context& context, const Vitals& vitals);

}  // namespace kinglet::daemon::http
