// SPDX-License-Identifier: Apache-2.0
// Why: the plain tables an owner writes: what the classes of a model are, and which birds live here when. Text in, rows
// out; '#' begins a comment line, names are compared as visits/names/folded.h says.
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
  bool owners_name = false;  // common_name is what the owner calls it, whatever the language
};

// kBadData: file:line and what was expected.
[[nodiscard]] Result<std::vector<SpeciesRow>> parse_species_table(std::string_view text, std::string_view where);

// Empty paths: none is named.
struct TableFiles {
  std::filesystem::path species;     // else MODEL.species.tsv beside the model, if there is one
  std::filesystem::path names;       // the owner's
  std::filesystem::path kept_names;  // sent over HTTP; counts where `names` is empty; may be missing, or of no use

  bool operator==(const TableFiles&) const = default;
};

// What an owner says of a model's classes: the table of species, then the names. kNotFound, kBadData.
[[nodiscard]] Result<std::vector<SpeciesRow>> read_species_tables(const std::filesystem::path& model,
                                                                  const TableFiles& files);

// Bit 0 is January.
using Months = std::uint16_t;
inline constexpr Months kWholeYear = 0x0FFF;

// A bird of a list as it was written: by any name, or by two, "Passer domesticus (House Sparrow)".
struct Listed {
  std::string name;
  Months months = kWholeYear;  // none: taken away

  bool operator==(const Listed&) const = default;
};

// The birds of a region, a line each: "Turdus merula", "Apus apus: 4-8", "Fringilla montifringilla: 10-3, 4", where the
// numbers are months. "-Pica pica" takes a bird of an earlier line or list away. A genus stands for all its species.
class SpeciesList {
 public:
  [[nodiscard]] static Result<SpeciesList> parse(std::string_view text, std::string_view where);

  // What `overrides` says of a bird counts instead of what this list says.
  void apply(const SpeciesList& overrides);

  // By the name as it is compared (visits/names/folded.h).
  [[nodiscard]] const std::map<std::string, Listed, std::less<>>& entries() const { return entries_; }

 private:
  std::map<std::string, Listed, std::less<>> entries_;
};

// kNotFound, kBadData.
[[nodiscard]] Result<std::string> read_table(const std::string& path);

}  // namespace kinglet::visits
