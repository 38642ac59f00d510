// SPDX-License-Identifier: Apache-2.0
// Why: findings as the API and `kinglet doctor --json` show them.
#pragma once

#include <nlohmann/json.hpp>

#include "daemon/doctor/doctor.h"

namespace kinglet::daemon {

// {"status": ..., "checks": [...]}
[[nodiscard]] nlohmann::ordered_json doctor_json(const std::vector<Finding>& findings);

}  // namespace kinglet::daemon
