// SPDX-License-Identifier: Apache-2.0
// Why: a visit as JSON, the same in the API, in replays and in what the store exports.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "visits/visit.h"

namespace kinglet::visits {

// The members of the API's visit, without links and without counts of the day.
[[nodiscard]] nlohmann::ordered_json to_json(const Visit& visit);
[[nodiscard]] nlohmann::ordered_json to_json(std::span<const NamedScore> top);
[[nodiscard]] nlohmann::ordered_json to_json(const Area& area);  // a box in shares of its picture
[[nodiscard]] std::string_view to_string(Verdict verdict);       // "not_a_bird"
[[nodiscard]] std::optional<Verdict> verdict_of(std::string_view text);

// Six decimals are enough for a score, and the shortest text that gives them back.
[[nodiscard]] double rounded_score(float score);

}  // namespace kinglet::visits
