// SPDX-License-Identifier: Apache-2.0
// Why: the public models that `kinglet pull` and the page offer: models/catalogue.json, built into the programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/recipe/recipe.h"

namespace kinglet::daemon {

struct CatalogueEntry {
  std::string name;  // of is_model_name()
  std::string summary;
  std::vector<std::string> addresses;  // http or https, tried in order
  std::string sha256;                  // 64 hex digits
  std::uint64_t size_bytes = 0;
  std::string licence;
  std::string licence_address;
  std::string terms;  // what the licence leaves open, for people; may be empty
  std::string source;
  std::string labels;    // name of a built-in label list; empty: they are in the file
  bool birds = false;    // made for birds: the page offers it
  bool checked = false;  // these very bytes were converted and run by who wrote the entry
  engine::Recipe recipe;
};

// a to z, 0 to 9, '.', '_' and '-', at most 80, no sign first: safe as a file name.
[[nodiscard]] bool is_model_name(std::string_view name);

// kBadData names the entry and the member.
[[nodiscard]] Result<std::vector<CatalogueEntry>> parse_catalogue(std::string_view json, std::string_view where);
// Of a file, or the built-in one where `file` is empty. kNotFound as read_file().
[[nodiscard]] Result<std::vector<CatalogueEntry>> read_catalogue(const std::filesystem::path& file);
[[nodiscard]] std::string_view built_in_catalogue();
// Lines of a built-in label list; empty when there is none of that name.
[[nodiscard]] std::string_view built_in_labels(std::string_view name);

}  // namespace kinglet::daemon
