// SPDX-License-Identifier: Apache-2.0
// Why: the label table: what the classes of a model are as kinds of birds. Classes of one species (male, female, young)
// are summed; a genus or a species stands above its parts and may be named when they are not sure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/error.h"
#include "engine/recipe/labels.h"
#include "visits/tables.h"

namespace kinglet::visits {

inline constexpr std::uint32_t kNoTaxon = 0xFFFF'FFFF;

struct Taxon {
  std::string species_id;
  std::string label;            // as the label file has it, without "(male)" and the like; of a genus its name
  std::string scientific_name;  // empty for a label without one
  std::string common_name;      // of a label that is a scientific name alone: the program's, where it has one
  bool owners_name = false;     // common_name is the owner's word
  engine::LabelRole role = engine::LabelRole::kSpecies;
  std::uint32_t parent = kNoTaxon;
  std::uint32_t child_count = 0;
  std::vector<std::uint32_t> classes;  // of the model; empty where only children have some
};

// A bird that the owner names and no class of the model means; only a person sees it.
struct OtherBird {
  std::string species_id;
  std::string name;
};

// What it is called in a language ("de"): the owner's word, else the name that comes with the program, else
// common_name.
[[nodiscard]] std::string_view name_in(const Taxon& taxon, std::string_view language);

// Immutable; shared by threads.
class Taxa {
 public:
  // Rows change what the label file says, in order; a row of a genus names it. kBadData: parents in a circle, a row
  // that names no class.
  [[nodiscard]] static Result<Taxa> make(const engine::Labels& labels, std::span<const SpeciesRow> rows = {});

  [[nodiscard]] std::size_t size() const { return taxa_.size(); }
  [[nodiscard]] const Taxon& operator[](std::size_t index) const { return taxa_[index]; }
  // Those with classes of their own come first.
  [[nodiscard]] std::size_t leaf_count() const { return leaf_count_; }
  [[nodiscard]] std::span<const std::uint32_t> of_class() const { return of_class_; }  // class -> taxon
  [[nodiscard]] std::span<const std::uint32_t> deepest_first() const { return deepest_first_; }

  // Is `taxon` the same as `ancestor`, or below it?
  [[nodiscard]] bool within(std::uint32_t taxon, std::uint32_t ancestor) const;
  // By species_id, scientific name, common name (also the one that a row replaced), label, or what it is called in a
  // language of the page; compared as visits/names/folded.h says.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const;
  // Those of the owner's names that are of none of these, by species_id.
  [[nodiscard]] std::span<const OtherBird> others() const { return others_; }
  // By its species_id or the owner's name of it, or any name of the program's table. nullptr: the owner names none so.
  [[nodiscard]] const OtherBird* find_other(std::string_view name) const;
  // The nearest name that find() knows, for messages; may be empty.
  [[nodiscard]] std::string_view nearest(std::string_view name) const;

 private:
  std::vector<Taxon> taxa_;
  std::size_t leaf_count_ = 0;
  std::vector<std::uint32_t> of_class_;
  std::vector<std::uint32_t> deepest_first_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<OtherBird> others_;
  std::unordered_map<std::string, std::uint32_t> other_by_name_;

  friend class TaxaMaker;
};

}  // namespace kinglet::visits
