// SPDX-License-Identifier: Apache-2.0
#include "visits/names/bird_names.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/recipe/labels.h"
#include "visits/lines.h"
#include "visits/names/bird_names_text.h"
#include "visits/names/folded.h"

namespace kinglet::visits {
namespace {

// scientific_name, former or later ones, en, de, fr, es, ja, zh.
constexpr std::size_t kFirstName = 2;

std::vector<BirdNames> read_table() {
  std::vector<BirdNames> table;
  const auto lines = lines_of(bird_names_text(), "birds.tsv");
  KINGLET_CHECK(lines.has_value());
  for (std::size_t row = 1; row < lines->size(); ++row) {
    const std::vector<std::string_view> cells = cells_of((*lines)[row].text, '\t');
    KINGLET_CHECK(cells.size() >= kFirstName + kNameLanguages.size());
    const auto add = [&](std::string_view scientific_name, bool is_current) {
      BirdNames bird{.species_id = engine::slug(scientific_name),
                     .scientific_name = scientific_name,
                     .names = {},
                     .bird = row,
                     .is_current = is_current};
      std::copy_n(cells.begin() + kFirstName, kNameLanguages.size(), bird.names.begin());
      table.push_back(std::move(bird));
    };
    add(cells[0], true);
    for (const std::string_view other : cells_of(cells[1], ',')) {
      if (!other.empty()) add(other, false);
    }
  }
  std::ranges::sort(table, {}, &BirdNames::species_id);
  return table;
}

std::unordered_map<std::string, const BirdNames*> by_any_name() {
  std::unordered_map<std::string, const BirdNames*> found;
  for (const BirdNames& bird : bird_names()) found.try_emplace(folded(bird.scientific_name), &bird);
  for (const BirdNames& bird : bird_names()) {
    if (!bird.is_current) continue;
    for (const std::string_view name : bird.names) {
      if (!name.empty()) found.try_emplace(folded(name), &bird);
    }
  }
  return found;
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

const BirdNames* find_bird_called(std::string_view name) {
  static const std::unordered_map<std::string, const BirdNames*> kByName = by_any_name();
  const auto found = kByName.find(folded(name));
  return found != kByName.end() ? found->second : nullptr;
}

std::string_view bird_name(std::string_view species_id, std::string_view language) {
  const BirdNames* names = find_bird_names(species_id);
  const auto* const at = std::ranges::find(kNameLanguages, language);
  if (names == nullptr || at == kNameLanguages.end()) return {};
  return names->names.at(static_cast<std::size_t>(at - kNameLanguages.begin()));
}

}  // namespace kinglet::visits
