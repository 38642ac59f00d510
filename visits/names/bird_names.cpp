// SPDX-License-Identifier: Apache-2.0
#include "visits/names/bird_names.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/recipe/labels.h"
#include "visits/lines.h"
#include "visits/names/bird_names_text.h"

namespace kinglet::visits {
namespace {

// scientific_name, former or later ones, de, fr, es, ja, zh.
constexpr std::size_t kFirstName = 2;

std::vector<BirdNames> read_table() {
  std::vector<BirdNames> table;
  const auto lines = lines_of(bird_names_text(), "birds.tsv");
  KINGLET_CHECK(lines.has_value());
  for (std::size_t row = 1; row < lines->size(); ++row) {
    const std::vector<std::string_view> cells = cells_of((*lines)[row].text, '\t');
    KINGLET_CHECK(cells.size() >= kFirstName + kNameLanguages.size());
    BirdNames names{.species_id = engine::slug(cells[0]), .names = {}};
    std::copy_n(cells.begin() + kFirstName, kNameLanguages.size(), names.names.begin());
    for (const std::string_view other : cells_of(cells[1], ',')) {
      if (!other.empty()) table.push_back({.species_id = engine::slug(other), .names = names.names});
    }
    table.push_back(std::move(names));
  }
  std::ranges::sort(table, {}, &BirdNames::species_id);
  return table;
}

}  // namespace

std::span<const BirdNames> bird_names() {
  static const std::vector<BirdNames> kTable = read_table();
  return kTable;
}

const BirdNames* find_bird_names(std::string_view species_id) {
  const auto table = bird_names();
  const auto found = std::ranges::lower_bound(table, species_id, {}, &BirdNames::species_id);
  return found != table.end() && found->species_id == species_id ? &*found : nullptr;
}

std::string_view bird_name(std::string_view species_id, std::string_view language) {
  const BirdNames* names = find_bird_names(species_id);
  const auto* const at = std::ranges::find(kNameLanguages, language);
  if (names == nullptr || at == kNameLanguages.end()) return {};
  return names->names.at(static_cast<std::size_t>(at - kNameLanguages.begin()));
}

}  // namespace kinglet::visits
