// SPDX-License-Identifier: Apache-2.0
#include "visits/names/pasted.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/words.h"
#include "visits/lines.h"
#include "visits/names/folded.h"

namespace kinglet::visits {
namespace {

constexpr double kRare = 0.001;        // of the lists of a month
constexpr std::size_t kQuarters = 48;  // of a bar chart
// Far more than there are birds.
constexpr std::size_t kMostNames = 20'000;

// No species, but what a person was not sure of: "gull sp.", "Greater/Lesser Scaup", "Mallard x Mexican Duck".
bool is_no_species(std::string_view name) {
  return name.contains('/') || name.ends_with(" sp.") || name.contains(" sp. ") || name.contains(" x ") ||
         name.contains(" \u00D7 ") || name.ends_with("(hybrid)");
}

// "Junco hyemalis" of "Junco hyemalis hyemalis/carolinensis" and "Junco hyemalis [oreganus Group]".
std::string_view binomial_of(std::string_view name) {
  const std::size_t first = name.find(' ');
  return first == std::string_view::npos ? name : name.substr(0, name.find(' ', first + 1));
}

// Without what stands in brackets behind it.
std::string_view plain_name(std::string_view name) { return trimmed(name.substr(0, name.find(" ("))); }

// Each bird once, in the order of the source.
class ListWriter {
 public:
  explicit ListWriter(PastedForm form) { list_.form = form; }

  void leave_out() { ++list_.left_out; }
  void add(std::string_view scientific, std::string_view common, std::string_view months = {}) {
    scientific = binomial_of(trimmed(scientific));
    common = plain_name(common);
    if (scientific.empty()) std::swap(scientific, common);
    if (folded(scientific).empty() || is_no_species(scientific) || is_no_species(common)) return leave_out();
    // What ends a name, or begins something else, in a list of ours.
    constexpr std::string_view kEnds = ":\t\r\n";
    constexpr auto kNone = std::string_view::npos;
    if (scientific.find_first_of(kEnds) != kNone || common.find_first_of(kEnds) != kNone) return leave_out();
    if (scientific.find_first_of("#-") == 0) return leave_out();
    if (known_.size() >= kMostNames || !known_.insert(folded(scientific)).second) return;
    list_.text += scientific;
    if (!common.empty()) list_.text += format_text(" ({})", common);
    if (!months.empty()) list_.text += format_text(": {}", months);
    list_.text += '\n';
  }
  [[nodiscard]] PastedList take() { return std::move(list_); }

 private:
  PastedList list_;
  std::set<std::string> known_;
};

// "4-8, 10"; empty: none.
std::string months_text(const std::array<bool, 12>& months) {
  std::string text;
  for (std::size_t first = 0; first < months.size(); ++first) {
    if (!months.at(first)) continue;
    std::size_t last = first;
    while (last + 1 < months.size() && months.at(last + 1)) ++last;
    text += format_text("{}{}", text.empty() ? "" : ", ", first + 1);
    if (last > first) text += format_text("-{}", last + 1);
    first = last;
  }
  return text;
}

// Nothing: the cells are no numbers.
std::optional<std::string> months_of(const std::vector<std::string>& cells) {
  std::array<bool, 12> months{};
  for (std::size_t month = 0; month < months.size(); ++month) {
    double sum = 0;
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const auto share = parse_number<double>(cells.at(1 + month * 4 + quarter));
      if (!share) return std::nullopt;
      sum += *share;
    }
    months.at(month) = sum / 4 >= kRare;
  }
  return months_text(months);
}

// "Mute Swan (<em class="sci">Cygnus olor</em>)", in older files "Mute Swan".
void add_charted(ListWriter& list, std::string_view name, std::string_view months) {
  if (months == "1-12") months = {};
  const std::size_t tag = name.find("<em");
  if (tag == std::string_view::npos) return list.add({}, name, months);
  std::string_view scientific = name.substr(std::min(name.find('>', tag) + 1, name.size()));
  scientific = scientific.substr(0, scientific.find('<'));
  list.add(scientific, name.substr(0, tag), months);
}

std::optional<PastedList> read_bar_chart(std::string_view text) {
  if (!text.contains("Sample Size:")) return std::nullopt;
  ListWriter list(PastedForm::kBarChart);
  bool began = false;
  for (const std::vector<std::string>& cells : records_of(text, '\t')) {
    if (cells.size() <= kQuarters) continue;
    if (cells[0].starts_with("Sample Size:")) {
      began = true;
      continue;
    }
    const std::optional<std::string> months = began ? months_of(cells) : std::nullopt;
    if (!months) continue;
    if (months->empty()) {
      list.leave_out();
    } else {
      add_charted(list, cells[0], *months);
    }
  }
  return began ? std::optional(list.take()) : std::nullopt;
}

struct Columns {
  char separator = ',';
  std::size_t scientific = std::string::npos;
  std::size_t common = std::string::npos;
};

// By the first line. Nothing: it names no column of names.
std::optional<Columns> columns_of(std::string_view text) {
  constexpr std::array<std::string_view, 4> kScientific{"scientific-name", "sci-name", "latin-name", "scientific"};
  constexpr std::array<std::string_view, 6> kCommon{"common-name",  "primary-com-name", "com-name",
                                                    "english-name", "species-name",     "species"};
  const std::string_view first = text.substr(0, text.find('\n'));
  for (const char separator : {'\t', ',', ';'}) {
    Columns columns{.separator = separator};
    const auto records = records_of(first, separator);
    if (records.empty() || records[0].size() < 2) continue;
    for (std::size_t i = 0; i < records[0].size(); ++i) {
      const std::string name = folded(records[0][i]);
      if (std::ranges::contains(kScientific, name)) columns.scientific = std::min(columns.scientific, i);
      if (std::ranges::contains(kCommon, name)) columns.common = std::min(columns.common, i);
    }
    if (columns.scientific != std::string::npos || columns.common != std::string::npos) return columns;
  }
  return std::nullopt;
}

std::optional<PastedList> read_table_list(std::string_view text) {
  const std::optional<Columns> columns = columns_of(text);
  if (!columns) return std::nullopt;
  ListWriter list(PastedForm::kTable);
  bool first = true;
  for (const std::vector<std::string>& cells : records_of(text, columns->separator)) {
    if (std::exchange(first, false)) continue;
    const auto cell = [&](std::size_t i) { return i < cells.size() ? std::string_view(cells[i]) : std::string_view(); };
    const std::string_view scientific = cell(columns->scientific);
    const std::string_view common = cell(columns->common);
    if (!scientific.empty() || !common.empty()) list.add(scientific, common);
  }
  return list.take();
}

// "12. ", "3) ", a dot or a star before a name. "-Pica pica" is no such: it takes a bird away.
std::string_view without_bullet(std::string_view line) {
  for (const std::string_view bullet : {"- ", "* ", "\u2022 ", "\u2013 "}) {
    if (line.starts_with(bullet)) return trimmed(line.substr(bullet.size()));
  }
  const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  if (digits == 0 || digits > 5 || digits == line.size()) return line;
  const std::string_view rest = line.substr(digits);
  if (rest.starts_with(". ") || rest.starts_with(") ") || rest.starts_with(".\t")) return trimmed(rest.substr(2));
  return rest.starts_with(' ') || rest.starts_with('\t') ? trimmed(rest) : line;
}

// Where the months of a line begin, at their colon; its end: there are none.
std::size_t months_at(std::string_view line) {
  const std::size_t colon = line.rfind(':');
  if (colon == std::string_view::npos) return line.size();
  const bool numbers = line.find_first_not_of("0123456789,- \t", colon + 1) == std::string_view::npos;
  return numbers ? colon : line.size();
}

// Two names side by side: "Passer domesticus - House Sparrow".
std::string paired(std::string_view name) {
  for (const std::string_view between : {"\t", " - ", " \u2013 ", " \u2014 "}) {
    const std::size_t at = name.find(between);
    if (at == std::string_view::npos) continue;
    const std::string_view first = trimmed(name.substr(0, at));
    std::string_view second = trimmed(name.substr(at + between.size()));
    second = trimmed(second.substr(0, second.find(between)));
    return second.empty() ? std::string(first) : format_text("{} ({})", first, second);
  }
  return std::string(name);
}

// The birds of a line of the list of a person, a line each; several may stand side by side, with commas between them.
std::string listed_birds(std::string_view line, std::size_t& left_out) {
  line = without_bullet(line);
  const std::size_t months = months_at(line);
  std::string_view names = line.substr(0, months);
  std::string lines;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find_first_of(",;"), names.size());
    const std::string_view name = trimmed(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
    if (name.empty()) continue;
    if (is_no_species(name)) {
      ++left_out;
    } else {
      lines += paired(name) + std::string(line.substr(months)) + "\n";
    }
  }
  return lines;
}

PastedList read_lines(std::string_view text) {
  PastedList list;
  bool has_bird = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) {
      list.text += std::string(line) + "\n";
      continue;
    }
    const std::string birds = listed_birds(line, list.left_out);
    has_bird = has_bird || !birds.empty();
    list.text += birds;
  }
  if (!has_bird) list.text.clear();
  return list;
}

}  // namespace

std::string_view to_string(PastedForm form) {
  using enum PastedForm;
  static constexpr Word<PastedForm> kWords[] = {{kLines, "lines"}, {kTable, "table"}, {kBarChart, "bar_chart"}};
  return word_of(kWords, form);
}

Result<PastedList> read_pasted_list(std::string_view text, std::string_view where) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.size() > kMostTableBytes) {
    return fail(ErrorCode::kBadData, format_text("list has {} bytes, the limit is {}", text.size(), kMostTableBytes),
                std::string(where), "paste the names alone");
  }
  if (!is_text(text)) {
    return fail(ErrorCode::kBadData, "the list is not UTF-8 text", std::string(where),
                "save it as text or CSV in UTF-8; a spreadsheet is no text");
  }
  if (auto chart = read_bar_chart(text)) return *chart;
  if (auto table = read_table_list(text)) return *table;
  PastedList list = read_lines(text);
  if (static_cast<std::size_t>(std::ranges::count(list.text, '\n')) > kMostNames) {
    return fail(ErrorCode::kBadData, format_text("list has more than {} lines", kMostNames), std::string(where),
                "there are some 11,000 birds in the world");
  }
  return list;
}

}  // namespace kinglet::visits
