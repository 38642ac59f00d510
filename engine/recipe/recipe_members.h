// SPDX-License-Identifier: Apache-2.0
// Why: what the readers of a recipe's members share; the members are in recipe.cpp and, of boxes, in box_recipe.cpp.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/recipe/box_recipe.h"

namespace kinglet::engine::recipe_members {

// What a reader of one member needs to name it in an error.
struct Member {
  std::string_view name;
  std::string_view where;
};

[[nodiscard]] std::unexpected<Error> wrong(const Member& member, const nlohmann::json& value,
                                           std::string_view expected);
[[nodiscard]] std::string listed(std::span<const std::string_view> names);  // "a", "b"
// A whole number from `least` to `most`, which is what was `expected`.
[[nodiscard]] Result<void> read_whole(const Member& member, const nlohmann::json& value, int least, int most,
                                      std::string_view expected, int& out);
// The place in `names`.
[[nodiscard]] Result<std::size_t> read_choice(const Member& member, const nlohmann::json& value,
                                              std::span<const std::string_view> names);
// kBadData for a member that there is not; names the nearest.
[[nodiscard]] std::unexpected<Error> unknown_member(std::string_view name, std::string_view where,
                                                    std::span<const std::string_view> names);

// Member "boxes", over what `boxes` has.
[[nodiscard]] Result<void> read_boxes(const Member& member, const nlohmann::json& value,
                                      std::optional<BoxRecipe>& boxes);
[[nodiscard]] nlohmann::ordered_json write_boxes(const BoxRecipe& boxes);

}  // namespace kinglet::engine::recipe_members
