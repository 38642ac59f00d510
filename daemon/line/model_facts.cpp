// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/model_facts.h"

#include <algorithm>
#include <utility>

#include "camera/preprocess/preprocess.h"

namespace kinglet::daemon {
namespace {

bool say_the_same(const visits::Taxa& one, const visits::Taxa& other) {
  const auto is_same = [](const visits::OtherBird& a, const visits::OtherBird& b) {
    return a.species_id == b.species_id && a.name == b.name;
  };
  if (one.size() != other.size() || !std::ranges::equal(one.others(), other.others(), is_same)) return false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const visits::Taxon& a = one[i];
    const visits::Taxon& b = other[i];
    if (a.species_id != b.species_id || a.scientific_name != b.scientific_name || a.common_name != b.common_name ||
        a.owners_name != b.owners_name || a.role != b.role || a.parent != b.parent) {
      return false;
    }
  }
  return true;
}

}  // namespace

camera::ImageSize ModelFacts::enough_pixels(camera::ImageSize picture, const std::optional<CropRect>& crop) const {
  return camera::enough_pixels(recipe, {picture_input.width, picture_input.height}, picture, crop);
}

Result<void> read_taxa(const visits::TableFiles& tables, ModelFacts& facts) {
  const std::vector<visits::SpeciesRow> rows = KINGLET_TRY(visits::read_species_tables(facts.path, tables));
  facts.taxa = std::make_shared<const visits::Taxa>(KINGLET_TRY(visits::Taxa::make(facts.labels, rows)));
  facts.tables = tables;
  return {};
}

Result<std::shared_ptr<const ModelFacts>> read_names_again(const ModelFacts& facts) {
  ModelFacts renamed = facts;
  KINGLET_TRY(read_taxa(facts.tables, renamed));
  if (say_the_same(*facts.taxa, *renamed.taxa)) return nullptr;
  return std::make_shared<const ModelFacts>(std::move(renamed));
}

}  // namespace kinglet::daemon
