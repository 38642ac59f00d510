// SPDX-License-Identifier: Apache-2.0
#include "engine/recipe/recipe.h"

#include "engine/base/check.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {

void recipe(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const Result<engine::Recipe> read = engine::parse_recipe(text, "recipe");
  if (!read) return;
  const Result<engine::Recipe> again = engine::parse_recipe(engine::to_json(*read), "written");
  KINGLET_CHECK(again && *again == *read);
}

}  // namespace kinglet::fuzz
