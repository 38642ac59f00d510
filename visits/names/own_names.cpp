// SPDX-License-Identifier: Apache-2.0
#include "visits/names/own_names.h"

#include <algorithm>
#include <array>
#include <set>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "visits/lines.h"
#include "visits/names/bird_names.h"
#include "visits/names/folded.h"
#include "visits/names/match.h"

namespace kinglet::visits {
namespace {

constexpr std::size_t kMostBytes = 512U << 10;
constexpr std::size_t kMostRows = 20'000;
constexpr std::size_t kLongestName = 100;

using Row = std::pair<std::string, std::string>;

// The first that the text has, of those that stand in no name.
char separator_of(std::string_view text) {
  for (const char separator : {'\t', ';', '=', ','}) {
    if (text.contains(separator)) return separator;
  }
  return '\t';
}

bool names_columns(const Row& row) {
  constexpr std::array<std::string_view, 6> kColumns{"species-id", "scientific-name", "label", "common-name", "bird",
                                                     "name"};
  return std::ranges::contains(kColumns, folded(row.first)) && std::ranges::contains(kColumns, folded(row.second));
}

Result<std::vector<Row>> rows_of(std::string_view text, std::string_view where) {
  std::vector<Row> rows;
  std::size_t number = 0;
  for (const std::vector<std::string>& cells : records_of(text, separator_of(text))) {
    ++number;
    if (cells[0].starts_with('#')) continue;
    const auto at = [&] { return format_text("{}, row {}", where, number); };
    if (cells.size() != 2 || cells[0].empty() || cells[1].empty()) {
      return fail(ErrorCode::kBadData, format_text("{} cells, expected two: a bird and its name", cells.size()), at(),
                  "such as: Passer domesticus, a tab, Haussperling");
    }
    for (const std::string& cell : cells) {
      if (cell.size() <= kLongestName && cell.find_first_of("\t\r\n") == std::string::npos) continue;
      return fail(ErrorCode::kBadData,
                  format_text("\"{}\" is no name: longer than {} bytes, or of several lines", printable(cell, 40),
                              kLongestName),
                  at());
    }
    if (rows.size() == kMostRows) {
      return fail(ErrorCode::kBadData, format_text("table has more than {} rows", kMostRows), std::string(where));
    }
    rows.emplace_back(cells[0], cells[1]);
  }
  if (!rows.empty() && names_columns(rows[0])) rows.erase(rows.begin());
  return rows;
}

// Of a bird of the model, or of the program's table; empty: neither has it.
std::string known_id(const Taxa& taxa, std::string_view bird) {
  if (const auto taxon = find_listed(taxa, bird)) return taxa[*taxon].species_id;
  const auto [outside, inside] = two_names(bird);
  for (const std::string_view name : {bird, outside, inside}) {
    if (const auto taxon = find_of_model(taxa, name)) return taxa[*taxon].species_id;
    const BirdNames* known = find_bird_called(name);
    if (known == nullptr) continue;
    const auto is_it = [known](const BirdNames& one) { return one.bird == known->bird && one.is_current; };
    return std::ranges::find_if(bird_names(), is_it)->species_id;
  }
  return {};
}

}  // namespace

Result<OwnNames> read_own_names(std::string_view text, std::string_view where, const Taxa& taxa) {
  if (text.size() > kMostBytes || !is_text(text)) {
    return fail(ErrorCode::kBadData, "the table is not UTF-8 text of at most 512 KiB", std::string(where),
                "save it as CSV in UTF-8");
  }
  std::vector<Row> rows = KINGLET_TRY(rows_of(text, where));
  const auto known = [&](std::string Row::* cell) {
    return std::pair(std::ranges::count_if(rows, [&](const Row& row) { return !known_id(taxa, row.*cell).empty(); }),
                     std::ranges::count_if(rows, [&](const Row& row) { return is_scientific_name(row.*cell); }));
  };
  if (known(&Row::second) > known(&Row::first)) {
    for (auto& [bird, name] : rows) std::swap(bird, name);
  }
  OwnNames own;
  std::set<std::string> ids;
  for (const auto& [bird, name] : rows) {
    std::string id = known_id(taxa, bird);
    if (id.empty() && !is_scientific_name(bird)) {
      own.missing.push_back(bird);
    } else {
      ++own.found;
    }
    if (id.empty()) id = folded(bird);
    if (id.empty() || !ids.insert(id).second) continue;
    if (own.text.empty()) own.text = "species_id\tcommon_name\n";
    own.text += format_text("{}\t{}\n", id, name);
  }
  return own;
}

}  // namespace kinglet::visits
