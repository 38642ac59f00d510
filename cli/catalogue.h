// SPDX-License-Identifier: Apache-2.0
// Why: the public models that `kinglet pull` knows: models/catalogue.json, built into the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/recipe/recipe.h"

namespace kinglet::cli {

struct CatalogueEntry {
  std::string name;  // a to z, 0 to 9, '.', '_' and '-': safe as a file name
  std::string summary;
  std::vector<std::string> addresses;  // http or https, tried in order
  std::string sha256;                  // 64 hex digits
  std::uint64_t size_bytes = 0;
  std::string licence;
  std::string licence_address;
  std::string terms;  // what the licence leaves open, for people; may be empty
  std::string source;
  std::string labels;  // name of a built-in label list, may be empty
  engine::Recipe recipe;
};

// kBadData names the entry and the member.
[[nodiscard]] Result<std::vector<CatalogueEntry>> parse_catalogue(std::string_view json, std::string_view where);
[[nodiscard]] std::string_view built_in_catalogue();
// The text of models/labels/NAME.txt; empty for unknown names.
[[nodiscard]] std::string_view built_in_labels(std::string_view name);

}  // namespace kinglet::cli
