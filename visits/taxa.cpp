// SPDX-License-Identifier: Apache-2.0
#include "visits/taxa.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <utility>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "visits/names/bird_names.h"
#include "visits/names/folded.h"

namespace kinglet::visits {
namespace {

// What stands in brackets behind a name and makes no other species of it.
constexpr std::array<std::string_view, 24> kPlumage{
    "adult",  "adults", "ad",     "immature", "imm",      "juvenile", "juv",         "young",
    "male",   "males",  "female", "females",  "breeding", "non",      "nonbreeding", "winter",
    "summer", "spring", "autumn", "fall",     "eclipse",  "plumage",  "or",          "and"};

bool is_plumage(std::string_view inside) {
  const std::string words = engine::slug(inside);
  if (words.empty()) return false;
  return std::ranges::all_of(std::views::split(words, '-'), [](const auto part) {
    return std::ranges::find(kPlumage, std::string_view(part.begin(), part.end())) != kPlumage.end();
  });
}

// "Northern Cardinal (Female/juvenile)" -> "Northern Cardinal"
std::string_view without_plumage(std::string_view text) {
  const std::size_t open = text.rfind(" (");
  if (open == std::string_view::npos || open == 0 || text.back() != ')') return text;
  return is_plumage(text.substr(open + 2, text.size() - open - 3)) ? text.substr(0, open) : text;
}

// One class on its way to its taxon.
struct ClassRow {
  std::string species_id;
  std::string label;
  std::string scientific_name;
  std::string common_name;
  std::string parent;
  engine::LabelRole role = engine::LabelRole::kSpecies;
  bool owners_name = false;
};

// A label that is the scientific name alone: the other one comes with the program.
void name_by_science(ClassRow& row) {
  const BirdNames* bird = find_bird_names(row.species_id);
  if (bird == nullptr || bird->scientific_name != row.label) return;
  row.scientific_name = row.label;
  row.common_name = bird->names.front();
}

ClassRow row_of(const engine::Label& label) {
  ClassRow row{.species_id = label.species_id,
               .label = label.text,
               .scientific_name = label.scientific_name,
               .common_name = label.common_name,
               .role = label.role};
  if (label.scientific_name.empty()) {
    row.label = row.common_name = without_plumage(label.text);
    if (row.label.size() < label.text.size()) row.species_id = engine::slug(row.label);
    name_by_science(row);
  } else {
    row.common_name = without_plumage(label.common_name);
  }
  return row;
}

std::vector<std::string_view> words_of(std::string_view name) {
  std::vector<std::string_view> words;
  for (const auto part : std::views::split(name, ' ')) words.emplace_back(part.begin(), part.end());
  return words;
}

}  // namespace

class TaxaMaker {
 public:
  explicit TaxaMaker(const engine::Labels& labels) {
    for (const engine::Label& label : labels) {
      labels_.push_back(label.text);
      rows_.push_back(row_of(label));
    }
  }

  Result<void> apply(const SpeciesRow& change) {
    bool found = false;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!concerns(change, i)) continue;
      found = true;
      ClassRow& row = rows_[i];
      if (!change.scientific_name.empty()) {
        row.scientific_name = change.scientific_name;
        row.species_id = engine::slug(change.scientific_name);
      }
      if (!change.species_id.empty()) row.species_id = engine::slug(change.species_id);
      if (!change.common_name.empty()) {
        earlier_names_.emplace_back(std::exchange(row.common_name, change.common_name), i);
        row.owners_name = change.owners_name;
      }
      if (!change.parent.empty()) row.parent = change.parent;
      if (change.role) row.role = *change.role;
    }
    if (found) return {};
    if (change.label.empty()) {
      of_no_class_.push_back(change);  // a genus, or a bird that this model does not know, which is no fault
      return {};
    }
    return fail(ErrorCode::kBadData,
                format_text("species table: no class has the label \"{}\"", printable(change.label, 60)));
  }

  Result<Taxa> finish() {
    for (std::size_t i = 0; i < rows_.size(); ++i) add_class(rows_[i], static_cast<std::uint32_t>(i));
    out_.leaf_count_ = out_.taxa_.size();
    for (std::uint32_t i = 0; i < out_.leaf_count_; ++i) {
      if (!parents_[i].empty()) out_.taxa_[i].parent = find_or_add(parents_[i], parents_[i]);
    }
    // Those that are added here get a parent as well.
    for (std::uint32_t i = 0; i < out_.taxa_.size(); ++i) add_scientific_parent(i);
    name_others();
    KINGLET_TRY(sort_by_depth());
    index_names();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool concerns(const SpeciesRow& change, std::size_t i) const {
    if (!change.label.empty()) return labels_[i] == change.label;
    if (!change.species_id.empty()) return rows_[i].species_id == engine::slug(change.species_id);
    return rows_[i].species_id == engine::slug(change.scientific_name);
  }

  void add_class(ClassRow& row, std::uint32_t index) {
    const auto [place, is_new] = ids_.try_emplace(row.species_id, static_cast<std::uint32_t>(out_.taxa_.size()));
    if (is_new) {
      out_.taxa_.push_back({.species_id = row.species_id,
                            .label = std::move(row.label),
                            .scientific_name = std::move(row.scientific_name),
                            .common_name = std::move(row.common_name),
                            .owners_name = row.owners_name,
                            .role = row.role});
      parents_.push_back(std::move(row.parent));
    }
    out_.taxa_[place->second].classes.push_back(index);
    out_.of_class_.push_back(place->second);
  }

  std::uint32_t find_or_add(std::string_view name, std::string_view scientific_name) {
    const std::string id = engine::slug(name);
    const auto [place, is_new] = ids_.try_emplace(id, static_cast<std::uint32_t>(out_.taxa_.size()));
    if (is_new) {
      out_.taxa_.push_back({.species_id = id,
                            .label = std::string(name),
                            .scientific_name = std::string(scientific_name),
                            .common_name = std::string(name)});
    }
    return place->second;
  }

  // A subspecies belongs to its species, a species to its genus.
  void add_scientific_parent(std::uint32_t index) {
    const Taxon& taxon = out_.taxa_[index];
    if (taxon.parent != kNoTaxon || taxon.role != engine::LabelRole::kSpecies) return;
    const std::string name = taxon.scientific_name;
    const std::vector<std::string_view> words = words_of(name);
    if (words.size() < 2) return;
    const bool subspecies = words.size() == 3 && words[1] != "x" && words[1] != "\u00D7";
    const std::string above = subspecies ? std::string(words[0]) + " " + std::string(words[1]) : std::string(words[0]);
    const std::uint32_t parent = find_or_add(above, above);
    if (parent != index) out_.taxa_[index].parent = parent;
  }

  // What is left is a genus, or a bird that only a person can name.
  void name_others() {
    std::map<std::string, std::string> others;
    for (const SpeciesRow& row : of_no_class_) {
      if (row.common_name.empty()) continue;
      const std::string& bird = row.species_id.empty() ? row.scientific_name : row.species_id;
      if (const auto place = ids_.find(engine::slug(bird)); place != ids_.end()) {
        out_.taxa_[place->second].common_name = row.common_name;
        out_.taxa_[place->second].owners_name = row.owners_name;
      } else if (const std::string id = folded(bird); row.owners_name && !id.empty()) {
        others.insert_or_assign(id, row.common_name);
      }
    }
    for (const auto& [id, name] : others) out_.others_.push_back({.species_id = id, .name = name});
    for (const std::string OtherBird::* name : {&OtherBird::species_id, &OtherBird::name}) {
      for (std::uint32_t i = 0; i < out_.others_.size(); ++i)
        out_.other_by_name_.try_emplace(folded(out_.others_[i].*name), i);
    }
  }

  Result<void> sort_by_depth() {
    std::vector<std::pair<std::size_t, std::uint32_t>> depths;
    for (std::uint32_t i = 0; i < out_.taxa_.size(); ++i) {
      std::size_t depth = 0;
      for (std::uint32_t at = out_.taxa_[i].parent; at != kNoTaxon; at = out_.taxa_[at].parent) {
        if (++depth > 8) {
          return fail(ErrorCode::kBadData,
                      format_text("species table: \"{}\" has more than 8 parents above it, or itself",
                                  out_.taxa_[i].species_id));
        }
      }
      depths.emplace_back(depth, i);
      if (out_.taxa_[i].parent != kNoTaxon) ++out_.taxa_[out_.taxa_[i].parent].child_count;
    }
    std::ranges::stable_sort(depths, std::ranges::greater{}, &std::pair<std::size_t, std::uint32_t>::first);
    for (const auto& [depth, index] : depths) out_.deepest_first_.push_back(index);
    return {};
  }

  void index_names() {
    const auto add = [&](std::string_view name, std::uint32_t index) {
      if (std::string id = folded(name); !id.empty()) out_.by_name_.try_emplace(std::move(id), index);
    };
    for (std::uint32_t i = 0; i < out_.taxa_.size(); ++i) out_.by_name_.try_emplace(out_.taxa_[i].species_id, i);
    for (const std::string Taxon::* name :
         {&Taxon::species_id, &Taxon::scientific_name, &Taxon::common_name, &Taxon::label}) {
      for (std::uint32_t i = 0; i < out_.taxa_.size(); ++i) add(out_.taxa_[i].*name, i);
    }
    for (const auto& [name, index] : earlier_names_) add(name, out_.of_class_[index]);
    for (std::uint32_t i = 0; i < labels_.size(); ++i) add(labels_[i], out_.of_class_[i]);
    for (std::uint32_t i = 0; i < out_.taxa_.size(); ++i) {
      const BirdNames* names = find_bird_names(out_.taxa_[i].species_id);
      if (names == nullptr) continue;
      for (const std::string_view name : names->names) add(name, i);
    }
  }

  std::vector<std::string> labels_;
  std::vector<ClassRow> rows_;
  std::vector<std::string> parents_;                                // as the table says, of each leaf
  std::vector<std::pair<std::string, std::size_t>> earlier_names_;  // and the class
  std::vector<SpeciesRow> of_no_class_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  Taxa out_;
};

std::string_view name_in(const Taxon& taxon, std::string_view language) {
  if (taxon.owners_name || language == "en") return taxon.common_name;
  const std::string_view name = bird_name(taxon.species_id, language);
  return name.empty() ? std::string_view(taxon.common_name) : name;
}

Result<Taxa> Taxa::make(const engine::Labels& labels, std::span<const SpeciesRow> rows) {
  TaxaMaker maker(labels);
  for (const SpeciesRow& row : rows) KINGLET_TRY(maker.apply(row));
  return maker.finish();
}

bool Taxa::within(std::uint32_t taxon, std::uint32_t ancestor) const {
  for (; taxon != kNoTaxon; taxon = taxa_[taxon].parent) {
    if (taxon == ancestor) return true;
  }
  return false;
}

std::optional<std::uint32_t> Taxa::find(std::string_view name) const {
  const auto found = by_name_.find(folded(name));
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

const OtherBird* Taxa::find_other(std::string_view name) const {
  const auto called = [this](std::string_view one) {
    const auto found = other_by_name_.find(folded(one));
    return found == other_by_name_.end() ? nullptr : &others_[found->second];
  };
  if (others_.empty()) return nullptr;
  if (const OtherBird* found = called(name)) return found;
  const BirdNames* known = find_bird_called(name);
  if (known == nullptr) return nullptr;
  for (const BirdNames& same : bird_names()) {
    if (same.bird != known->bird) continue;
    if (const OtherBird* found = called(same.species_id)) return found;
  }
  return nullptr;
}

std::string_view Taxa::nearest(std::string_view name) const {
  std::vector<std::string_view> names;
  names.reserve(by_name_.size());
  for (const auto& [known, taxon] : by_name_) names.push_back(known);
  std::ranges::sort(names);  // of two that are as near, always the same
  return nearest_name(folded(name), names);
}

}  // namespace kinglet::visits
