// SPDX-License-Identifier: Apache-2.0
// Why: one way to tell what a change of a model costs, for `quantize` and `compare`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/quantize/judge.h"

namespace kinglet::cli {

[[nodiscard]] nlohmann::ordered_json to_json(const engine::Judgement& judgement, const std::vector<std::string>& files);
// Lines for people: agreement, right answers where known, scores, noise, the pictures whose answer changed.
[[nodiscard]] std::string to_text(const engine::Judgement& judgement, const std::vector<std::string>& files);

}  // namespace kinglet::cli
