// SPDX-License-Identifier: Apache-2.0
// Why: the JSON forms that several resources share.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "daemon/line/model_facts.h"
#include "daemon/line/prediction.h"

namespace kinglet::daemon::http {

using Json = nlohmann::ordered_json;

[[nodiscard]] Json to_json(const Prediction& prediction, const ModelFacts& model, const std::string& source_name);
[[nodiscard]] Json top_to_json(std::span<const Scored> top, const visits::Taxa& taxa);
[[nodiscard]] Json crop_to_json(const CropRect& crop);
[[nodiscard]] Json model_reference(const ModelFacts& model);  // {"name", "digest"}

// Milliseconds with microseconds of resolution, so that answers hold no 17-digit noise.
[[nodiscard]] double rounded_ms(SteadyClock::duration duration);
[[nodiscard]] double rounded(double value, int decimals);

}  // namespace kinglet::daemon::http
