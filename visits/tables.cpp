// SPDX-License-Identifier: Apache-2.0
#include "visits/tables.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <system_error>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"
#include "visits/lines.h"
#include "visits/names/folded.h"

namespace kinglet::visits {
namespace {

constexpr std::array<std::string_view, 6> kColumns{"label",       "species_id", "scientific_name",
                                                   "common_name", "role",       "parent"};

// For each column of the file its place in kColumns.
Result<std::vector<std::size_t>> read_header(const Line& line) {
  std::vector<std::size_t> columns;
  for (const std::string_view name : cells_of(line.text, '\t')) {
    const auto* const found = std::ranges::find(kColumns, name);
    if (found == kColumns.end()) {
      const std::string_view near = nearest_name(name, kColumns);
      return fail(ErrorCode::kBadData, format_text("unknown column \"{}\"", printable(name, 60)), line.where,
                  near.empty() ? "columns are label, species_id, scientific_name, common_name, role and parent, "
                                 "separated by tabs"
                               : format_text("did you mean {}?", near));
    }
    columns.push_back(static_cast<std::size_t>(found - kColumns.begin()));
  }
  return columns;
}

Result<engine::LabelRole> read_role(std::string_view text, const Line& line) {
  if (text == "species") return engine::LabelRole::kSpecies;
  if (text == "background") return engine::LabelRole::kBackground;
  if (text == "other") return engine::LabelRole::kOther;
  return fail(ErrorCode::kBadData,
              format_text("role is \"{}\", expected species, background or other", printable(text, 40)), line.where);
}

Result<SpeciesRow> read_row(const Line& line, const std::vector<std::size_t>& columns) {
  const std::vector<std::string_view> cells = cells_of(line.text, '\t');
  if (cells.size() > columns.size()) {
    return fail(ErrorCode::kBadData,
                format_text("{} cells, expected {} as in the first line", cells.size(), columns.size()), line.where);
  }
  SpeciesRow row;
  std::string* const texts[] = {&row.label,       &row.species_id, &row.scientific_name,
                                &row.common_name, nullptr,         &row.parent};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].empty()) continue;
    std::string* const text = texts[columns[i]];
    if (text != nullptr) {
      *text = cells[i];
    } else {
      row.role = KINGLET_TRY(read_role(cells[i], line));
    }
  }
  if (row.label.empty() && row.species_id.empty() && row.scientific_name.empty()) {
    return fail(ErrorCode::kBadData, "the row names no class", line.where, "fill label, species_id or scientific_name");
  }
  return row;
}

std::optional<int> month_of(std::string_view text) {
  const auto month = parse_number<int>(text);
  return month && *month >= 1 && *month <= 12 ? month : std::nullopt;
}

// "4-8, 10": ranges may go over the new year.
Result<Months> read_months(std::string_view text, const Line& line) {
  Months months = 0;
  for (const std::string_view part : cells_of(text, ',')) {
    const std::size_t dash = std::min(part.find('-'), part.size());
    const std::optional<int> first = month_of(trimmed(part.substr(0, dash)));
    const std::optional<int> last = dash < part.size() ? month_of(trimmed(part.substr(dash + 1))) : first;
    if (!first || !last) {
      return fail(ErrorCode::kBadData,
                  format_text("months are \"{}\", expected such as 4-8 or 10-3, 5", printable(trimmed(text), 40)),
                  line.where);
    }
    for (int month = *first;; month = month % 12 + 1) {
      months = static_cast<Months>(months | (1U << (month - 1)));
      if (month == *last) break;
    }
  }
  return months;
}

}  // namespace

Result<std::vector<SpeciesRow>> parse_species_table(std::string_view text, std::string_view where) {
  const std::vector<Line> lines = KINGLET_TRY(lines_of(text, where));
  if (lines.empty()) {
    return fail(ErrorCode::kBadData, "species table is empty", std::string(where),
                "the first line names the columns: label, species_id, scientific_name, common_name, role, parent");
  }
  const std::vector<std::size_t> columns = KINGLET_TRY(read_header(lines.front()));
  std::vector<SpeciesRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) rows.push_back(KINGLET_TRY(read_row(lines[i], columns)));
  return rows;
}

Result<std::vector<SpeciesRow>> read_species_tables(const std::filesystem::path& model, const TableFiles& files) {
  const auto read = [](const std::filesystem::path& path) -> Result<std::vector<SpeciesRow>> {
    return parse_species_table(KINGLET_TRY(read_table(path.string())), printable(path.string()));
  };
  std::filesystem::path beside = model;
  beside.replace_extension(".species.tsv");
  std::error_code ignored;
  std::vector<SpeciesRow> rows;
  if (!files.species.empty() || std::filesystem::exists(beside, ignored)) {
    rows = KINGLET_TRY(read(files.species.empty() ? beside : files.species));
  }
  std::vector<SpeciesRow> names;
  if (!files.names.empty()) {
    names = KINGLET_TRY(read(files.names));
  } else if (!files.kept_names.empty() && std::filesystem::exists(files.kept_names, ignored)) {
    // Of no use is no reason not to start.
    if (auto kept = read(files.kept_names)) names = std::move(*kept);
  }
  for (SpeciesRow& row : names) row.owners_name = true;
  std::ranges::move(names, std::back_inserter(rows));
  return rows;
}

Result<SpeciesList> SpeciesList::parse(std::string_view text, std::string_view where) {
  SpeciesList list;
  for (const Line& line : KINGLET_TRY(lines_of(text, where))) {
    const std::size_t colon = std::min(line.text.rfind(':'), line.text.size());
    std::string_view name = trimmed(line.text.substr(0, colon));
    const bool taken_away = name.starts_with('-');
    if (taken_away) name = trimmed(name.substr(1));
    const std::string id = folded(two_names(name).first);
    if (id.empty() || (taken_away && colon < line.text.size())) {
      return fail(ErrorCode::kBadData, format_text("\"{}\" is no bird of a list", printable(line.text, 60)), line.where,
                  "write such as: Turdus merula, or Apus apus: 4-8, or -Pica pica");
    }
    Months months = taken_away ? 0 : kWholeYear;
    if (colon < line.text.size()) months = KINGLET_TRY(read_months(line.text.substr(colon + 1), line));
    list.entries_.insert_or_assign(id, Listed{.name = std::string(name), .months = months});
  }
  return list;
}

void SpeciesList::apply(const SpeciesList& overrides) {
  for (const auto& [id, listed] : overrides.entries_) entries_.insert_or_assign(id, listed);
}

Result<std::string> read_table(const std::string& path) { return read_file(path, kMostTableBytes); }

}  // namespace kinglet::visits
