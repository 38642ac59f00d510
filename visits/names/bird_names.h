// SPDX-License-Identifier: Apache-2.0
// Why: what birds of feeders are called in the languages of the page: a table of our own, models/names/birds.tsv, built
// into the program.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace kinglet::visits {

inline constexpr std::array<std::string_view, 6> kNameLanguages{"en", "de", "fr", "es", "ja", "zh"};

struct BirdNames {
  std::string species_id;
  std::string_view scientific_name;
  std::array<std::string_view, kNameLanguages.size()> names;  // in the order of the languages; English is never empty
  std::size_t bird = 0;                                       // the same one for all scientific names of a bird
  bool is_current = false;                                    // the name that the table has it under
};

// By species_id; a bird that has been given another scientific name is there under each.
[[nodiscard]] std::span<const BirdNames> bird_names();

// nullptr: none are known.
[[nodiscard]] const BirdNames* find_bird_names(std::string_view species_id);
// By its id or any of its names, compared as visits/names/folded.h says. nullptr: no bird of the table is called so.
[[nodiscard]] const BirdNames* find_bird_called(std::string_view name);
// Empty: not known, or no such language.
[[nodiscard]] std::string_view bird_name(std::string_view species_id, std::string_view language);

}  // namespace kinglet::visits
