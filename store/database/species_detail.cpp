// SPDX-License-Identifier: Apache-2.0
// Why: the story of one species: when it comes, its best pictures, and whom the model takes it for.
#include <algorithm>
#include <array>
#include <map>

#include "engine/base/format.h"
#include "store/database/queries.h"

namespace kinglet::store {
namespace {

constexpr int kMostPictures = 12;

template <std::size_t N>
void add(std::array<std::uint64_t, N>& counts, std::int64_t at, std::uint64_t visits) {
  if (at >= 0 && at < static_cast<std::int64_t>(N)) counts.at(static_cast<std::size_t>(at)) += visits;
}

}  // namespace

Result<SpeciesDetail> Queries::species_detail(const std::string& species_id) {
  SpeciesDetail detail;
  KINGLET_TRY(fill_times(species_id, detail));
  detail.best = KINGLET_TRY(best_visits(species_id));
  detail.confusions = KINGLET_TRY(confusions(species_id));
  return detail;
}

Result<void> Queries::fill_times(const std::string& species_id, SpeciesDetail& detail) {
  // A day is written 2026-05-04.
  Statement times = KINGLET_TRY(database_.prepare(
      "SELECT hour, CAST(substr(day, 6, 2) AS INTEGER), sum(visits) FROM counts WHERE species_id = ?1 "
      "GROUP BY 1, 2"));
  times.bind(1, species_id);
  while (KINGLET_TRY(times.step())) {
    add(detail.hours, times.integer(0), times.natural(2));
    add(detail.months, times.integer(1) - 1, times.natural(2));
  }
  return {};
}

// A score that the model gave another name is worth less here.
Result<std::vector<VisitView>> Queries::best_visits(const std::string& species_id) {
  std::vector<VisitRow> rows;
  {
    Statement list =
        KINGLET_TRY(database_.prepare(format_text("SELECT {} FROM all_visits WHERE counted_as = ?1 AND crop_bytes > 0 "
                                                  "ORDER BY species_id <> counted_as, score DESC, seq DESC LIMIT ?2",
                                                  kVisitColumns)));
    list.bind(1, species_id).bind(2, kMostPictures);
    while (KINGLET_TRY(list.step())) rows.push_back(read_row(list));
  }
  std::vector<VisitView> best;
  for (VisitRow& row : rows) best.push_back(KINGLET_TRY(view_of(std::move(row))));
  return best;
}

Result<std::vector<Confusion>> Queries::confusions(const std::string& species_id) {
  std::map<std::string, Confusion> found;
  Statement pairs = KINGLET_TRY(
      database_.prepare("SELECT species_id, counted_as, count(*) FROM all_visits WHERE counted_as <> '' AND "
                        "species_id <> '' AND species_id <> counted_as AND (counted_as = ?1 OR species_id = ?1) "
                        "GROUP BY 1, 2"));
  pairs.bind(1, species_id);
  while (KINGLET_TRY(pairs.step())) {
    const std::string said = pairs.text(0);
    const std::string was = pairs.text(1);
    Confusion& other = found[was == species_id ? said : was];
    (was == species_id ? other.taken_for : other.was_really) += pairs.natural(2);
  }
  std::vector<Confusion> list;
  list.reserve(found.size());
  for (auto& [id, one] : found) {
    one.species_id = id;
    list.push_back(std::move(one));
  }
  std::ranges::stable_sort(list, std::ranges::greater{},
                           [](const Confusion& one) { return one.taken_for + one.was_really; });
  return list;
}

}  // namespace kinglet::store
