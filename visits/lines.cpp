// SPDX-License-Identifier: Apache-2.0
#include "visits/lines.h"

#include <algorithm>
#include <ranges>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::visits {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// The next cell, which ends before a separator, a line end or the end of the text.
std::string take_cell(std::string_view& text, char separator) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (separator != '\t' && begin != std::string_view::npos && text[begin] == '"') text.remove_prefix(begin);
  std::string cell;
  if (!text.starts_with('"')) {
    const char ends[] = {separator, '\n', '\0'};
    const std::size_t end = std::min(text.find_first_of(ends), text.size());
    cell = text.substr(0, end);
    text.remove_prefix(end);
    return std::string(trimmed(cell));
  }
  text.remove_prefix(1);
  while (!text.empty()) {
    const std::size_t quote = std::min(text.find('"'), text.size());
    cell += text.substr(0, quote);
    text.remove_prefix(std::min(quote + 1, text.size()));
    if (!text.starts_with('"')) break;
    cell += '"';
    text.remove_prefix(1);
  }
  const char ends[] = {separator, '\n', '\0'};
  text.remove_prefix(std::min(text.find_first_of(ends), text.size()));
  return std::string(trimmed(cell, " \t\r\n"));
}

}  // namespace

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

bool is_text(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return printable(plain, plain.size()) == plain;
}

Result<std::vector<Line>> lines_of(std::string_view text, std::string_view where) {
  if (text.size() > kMostTableBytes) {
    return fail(ErrorCode::kBadData, format_text("table has {} bytes, the limit is {}", text.size(), kMostTableBytes),
                std::string(where));
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (line.ends_with('\r')) line.remove_suffix(1);
    if (trimmed(line).empty() || trimmed(line).starts_with('#')) continue;
    std::string place = format_text("{}:{}", where, number);
    if (!is_text(line)) {
      return fail(ErrorCode::kBadData, "the line is not UTF-8 text", std::move(place), "save the file as UTF-8");
    }
    lines.push_back({line, std::move(place)});
  }
  return lines;
}

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  for (const auto part : std::views::split(line, separator)) {
    cells.push_back(trimmed(std::string_view(part.begin(), part.end())));
  }
  return cells;
}

std::vector<std::vector<std::string>> records_of(std::string_view text, char separator) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::vector<std::string>> records;
  while (!text.empty()) {
    std::vector<std::string>& record = records.emplace_back();
    record.push_back(take_cell(text, separator));
    while (text.starts_with(separator)) {
      text.remove_prefix(1);
      record.push_back(take_cell(text, separator));
    }
    if (!text.empty()) text.remove_prefix(1);  // the line end
    if (record.size() == 1 && record[0].empty()) records.pop_back();
  }
  return records;
}

}  // namespace kinglet::visits
