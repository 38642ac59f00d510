// SPDX-License-Identifier: Apache-2.0
// Why: a visit in words, the same in answers, events and messages.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "visits/book.h"

namespace kinglet::daemon {

[[nodiscard]] nlohmann::ordered_json visit_json(const visits::BookedVisit& booked);

// Its member "links": names and paths of this device.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> visit_links(const visits::BookedVisit& booked);

}  // namespace kinglet::daemon
