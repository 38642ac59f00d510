// SPDX-License-Identifier: Apache-2.0
// Why: which of a model's birds the names on a list mean, and which names mean none of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "visits/tables.h"
#include "visits/taxa.h"

namespace kinglet::visits {

// By any of its names, or by one of two: "Passer domesticus (House Sparrow)", "Rock Pigeon (Feral Pigeon)". A
// subspecies that the model does not know is its species.
[[nodiscard]] std::optional<std::uint32_t> find_listed(const Taxa& taxa, std::string_view name);

// By any of its names, under whichever scientific name the model has it.
[[nodiscard]] std::optional<std::uint32_t> find_of_model(const Taxa& taxa, std::string_view name);

// "Turdus pilaris", "Motacilla alba yarrellii": a bird of the world, whether a model knows it or not.
[[nodiscard]] bool is_scientific_name(std::string_view name);

// Birds of the model with the nearest names, at most `most`, nearest first: those with the same last word (the species
// under another genus) and longer ones ("Eurasian Blue Tit" of "Blue Tit") before those that are spelt alike.
[[nodiscard]] std::vector<std::uint32_t> nearest_birds(const Taxa& taxa, std::string_view name, std::size_t most);

// Is a bird or a genus of the model, or of the program's table, called so?
[[nodiscard]] bool is_known(const Taxa& taxa, std::string_view name);

// The species_id of the bird of the model, else of the table, of whose names one is spelt most alike; empty: none is.
[[nodiscard]] std::string nearest_called(const Taxa& taxa, std::string_view name);

struct ListMatch {
  struct Found {
    std::string name;  // as the list has it
    std::uint32_t taxon = 0;
    Months months = kWholeYear;
  };
  struct Missing {
    std::string name;
    std::vector<std::uint32_t> near;  // of the first kMostHelped alone
  };
  std::vector<Found> found;
  std::vector<Missing> missing;
};
inline constexpr std::size_t kMostHelped = 50;

// Birds that the list takes away are in neither.
[[nodiscard]] ListMatch match(const SpeciesList& list, const Taxa& taxa);

}  // namespace kinglet::visits
