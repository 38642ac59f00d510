// SPDX-License-Identifier: Apache-2.0
#include "visits/names/match.h"

#include <algorithm>
#include <ranges>

#include "engine/base/text.h"
#include "visits/names/bird_names.h"
#include "visits/names/folded.h"

namespace kinglet::visits {
namespace {

bool is_lower(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

// "Junco hyemalis" of "Junco hyemalis hyemalis"; empty: there is no such.
std::string_view species_of(std::string_view name) {
  const std::size_t first = name.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : name.find(' ', first + 1);
  if (second == std::string_view::npos || name[0] < 'A' || name[0] > 'Z') return {};
  const bool latin = is_lower(name.substr(first + 1, second - first - 1)) && is_lower(name.substr(second + 1));
  return latin ? name.substr(0, second) : std::string_view();
}

std::string_view last_word(std::string_view folded_name) {
  return folded_name.substr(folded_name.rfind('-') + 1);  // npos + 1 is 0
}

void add_once(std::vector<std::uint32_t>& list, std::uint32_t taxon, std::size_t most) {
  if (list.size() < most && !std::ranges::contains(list, taxon)) list.push_back(taxon);
}

// Species that bear this last word in their scientific name.
void add_namesakes(const Taxa& taxa, std::string_view word, std::size_t most, std::vector<std::uint32_t>& list) {
  constexpr std::size_t kShortest = 5;
  if (word.size() < kShortest) return;
  for (std::uint32_t i = 0; i < taxa.size(); ++i) {
    const std::string& id = taxa[i].species_id;
    if (id.contains('-') && last_word(id) == word) add_once(list, i, most);
  }
}

// "Eurasian Blue Tit" of "Blue Tit".
void add_longer(const Taxa& taxa, const std::string& name, std::size_t most, std::vector<std::uint32_t>& list) {
  for (std::uint32_t i = 0; i < taxa.size() && !name.empty(); ++i) {
    if (folded(taxa[i].common_name).ends_with("-" + name)) add_once(list, i, most);
  }
}

}  // namespace

std::optional<std::uint32_t> find_listed(const Taxa& taxa, std::string_view name) {
  if (const auto whole = taxa.find(name)) return whole;
  const auto [outside, inside] = two_names(name);
  for (const std::string_view one : {outside, inside, species_of(outside)}) {
    if (one.empty()) continue;
    if (const auto found = taxa.find(one)) return found;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> find_of_model(const Taxa& taxa, std::string_view name) {
  if (const auto found = taxa.find(name)) return found;
  const BirdNames* known = find_bird_called(name);
  if (known == nullptr) return std::nullopt;
  for (const BirdNames& same : bird_names()) {
    if (same.bird != known->bird) continue;
    if (const auto found = taxa.find(same.species_id)) return found;
  }
  return std::nullopt;
}

bool is_scientific_name(std::string_view name) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const std::size_t genus = name.find(' ');
  if (genus == std::string_view::npos || genus < 2 || name[0] < 'A' || name[0] > 'Z') return false;
  if (!std::ranges::all_of(name.substr(1, genus - 1), is_lower)) return false;
  std::size_t words = 1;
  for (const auto part : std::views::split(name.substr(genus + 1), ' ')) {
    const std::string_view word(part);
    if (word.size() < 2 || !is_lower(word.front()) || !is_lower(word.back())) return false;
    if (!std::ranges::all_of(word, [&](char c) { return is_lower(c) || c == '-'; })) return false;
    ++words;
  }
  return words <= 3;
}

std::vector<std::uint32_t> nearest_birds(const Taxa& taxa, std::string_view name, std::size_t most) {
  const std::string wanted = folded(two_names(name).first);
  std::vector<std::uint32_t> list;
  add_namesakes(taxa, last_word(wanted), most, list);
  add_longer(taxa, wanted, most, list);
  std::vector<std::pair<std::string, std::uint32_t>> names;
  for (std::uint32_t i = 0; i < taxa.size(); ++i) {
    if (taxa[i].role != engine::LabelRole::kSpecies) continue;
    names.emplace_back(taxa[i].species_id, i);
    if (!taxa[i].common_name.empty()) names.emplace_back(folded(taxa[i].common_name), i);
  }
  while (list.size() < most) {
    std::vector<std::string_view> left;
    for (const auto& [one, taxon] : names) left.push_back(one);
    const std::string_view near = nearest_name(wanted, left);
    if (near.empty()) break;
    const std::uint32_t taxon = std::ranges::find(names, near, &std::pair<std::string, std::uint32_t>::first)->second;
    add_once(list, taxon, most);
    std::erase_if(names, [&](const auto& one) { return one.second == taxon; });
  }
  return list;
}

bool is_known(const Taxa& taxa, std::string_view name) {
  const std::string wished = folded(name);
  if (wished.empty()) return false;
  if (taxa.find(name) || find_bird_called(name) != nullptr) return true;
  for (std::uint32_t i = 0; i < taxa.size(); ++i) {
    if (is_called(taxa[i].species_id, wished) || is_called(taxa[i].scientific_name, wished)) return true;
  }
  return std::ranges::any_of(bird_names(), [&](const BirdNames& bird) { return is_called(bird.species_id, wished); });
}

std::string nearest_called(const Taxa& taxa, std::string_view name) {
  if (const auto near = taxa.find(taxa.nearest(name))) return taxa[*near].species_id;
  std::vector<std::string> names;
  for (const BirdNames& bird : bird_names()) {
    names.push_back(bird.species_id);
    for (const std::string_view one : bird.names) names.push_back(folded(one));
  }
  const BirdNames* bird =
      find_bird_called(nearest_name(folded(name), std::vector<std::string_view>(names.begin(), names.end())));
  return bird != nullptr ? bird->species_id : std::string();
}

ListMatch match(const SpeciesList& list, const Taxa& taxa) {
  constexpr std::size_t kNear = 3;
  ListMatch result;
  for (const Listed& bird : list.entries() | std::views::values) {
    if (bird.months == 0) continue;
    if (const auto taxon = find_listed(taxa, bird.name)) {
      result.found.push_back({.name = bird.name, .taxon = *taxon, .months = bird.months});
      continue;
    }
    ListMatch::Missing missing{.name = bird.name, .near = {}};
    if (result.missing.size() < kMostHelped) missing.near = nearest_birds(taxa, bird.name, kNear);
    result.missing.push_back(std::move(missing));
  }
  return result;
}

}  // namespace kinglet::visits
