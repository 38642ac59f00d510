// SPDX-License-Identifier: Apache-2.0
// Why: the plain tables an owner writes: what the classes of a model are, and which birds live here when. Text in, rows
// out; '#' begins a comment line, names are compared without case, accents of writing or punctuation (engine::slug).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/recipe/labels.h"

namespace kinglet::visits {

// One row of a species table: columns separated by tabs, named in the first line, any of
//   label  species_id  scientific_name  common_name  role (species, background, other)  parent
// An empty cell leaves what the label file says.
struct SpeciesRow {
  std::string label;       // the class with this label; empty: every class of species_id, or else of scientific_name
  std::string species_id;  // classes with the same one are summed: male, female, young
  std::string scientific_name;
  std::string common_name;
  std::string parent;  // what to name when this one is not sure but the sum of its kin is
  std::optional<engine::LabelRole> role;
};

// kBadData: file:line and what was expected.
[[nodiscard]] Result<std::vector<SpeciesRow>> parse_species_table(std::string_view text, std::string_view where);

// What an owner says of a model's classes: the table `species`, or MODEL.species.tsv beside the model if there is one,
// then the names in `names`. Empty paths: none is named. kNotFound, kBadData.
[[nodiscard]] Result<std::vector<SpeciesRow>> read_species_tables(const std::filesystem::path& model,
                                                                  const std::filesystem::path& species,
                                                                  const std::filesystem::path& names);

// Bit 0 is January.
using Months = std::uint16_t;
inline constexpr Months kWholeYear = 0x0FFF;

// The birds of a region, a line each: "Turdus merula", "Apus apus: 4-8", "Fringilla montifringilla: 10-3, 4", where the
// numbers are months. "-Pica pica" takes a bird of an earlier line or list away. A genus stands for all its species.
class SpeciesList {
 public:
  [[nodiscard]] static Result<SpeciesList> parse(std::string_view text, std::string_view where);

  // What `overrides` says of a bird counts instead of what this list says.
  void apply(const SpeciesList& overrides);

  // By slug; no months: taken away.
  [[nodiscard]] const std::map<std::string, Months, std::less<>>& entries() const { return entries_; }

 private:
  std::map<std::string, Months, std::less<>> entries_;
};

// kNotFound, kBadData.
[[nodiscard]] Result<std::string> read_table(const std::string& path);

}  // namespace kinglet::visits
