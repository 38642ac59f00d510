// SPDX-License-Identifier: Apache-2.0
// Why: what birds of feeders are called in the languages of the page: a table of our own, models/names/birds.tsv, built
// into the program.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinglet::visits {

// But English, which the models' labels have.
inline constexpr std::array<std::string_view, 5> kNameLanguages{"de", "fr", "es", "ja", "zh"};

struct BirdNames {
  std::string species_id;
  std::array<std::string_view, kNameLanguages.size()> names;  // in the order of the languages; empty: not known
};

// By species_id; a bird that has been given another scientific name is there under each.
[[nodiscard]] std::span<const BirdNames> bird_names();

// nullptr: none are known.
[[nodiscard]] const BirdNames* find_bird_names(std::string_view species_id);
// Empty: not known, or no such language.
[[nodiscard]] std::string_view bird_name(std::string_view species_id, std::string_view language);

}  // namespace kinglet::visits
