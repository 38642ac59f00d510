// SPDX-License-Identifier: Apache-2.0
// Why: a recipe as a part of what somebody else tells; only who does that knows a JSON library by it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/recipe/recipe.h"

namespace kinglet::engine {

// What to_json() has as text: members in the order of their table.
[[nodiscard]] nlohmann::ordered_json recipe_json(const Recipe& recipe);

}  // namespace kinglet::engine
