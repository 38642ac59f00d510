// SPDX-License-Identifier: Apache-2.0
// Why: text that an owner wrote, in lines and cells, for all tables alike: bounded, UTF-8, each with its place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::visits {

inline constexpr std::uint64_t kMostTableBytes = std::uint64_t{4} << 20;

[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r");

struct Line {
  std::string_view text;  // without the line end
  std::string where;      // file:line
};

// All but blank lines and comments ('#'). kBadData: too large, not UTF-8.
[[nodiscard]] Result<std::vector<Line>> lines_of(std::string_view text, std::string_view where);

// The parts of a line, trimmed.
[[nodiscard]] std::vector<std::string_view> cells_of(std::string_view line, char separator);

// Is it UTF-8 without control characters other than tabs and line ends?
[[nodiscard]] bool is_text(std::string_view text);

// The records of a table as spreadsheets write it (RFC 4180): cells in quotes may have separators, doubled quotes and
// line ends. Never fails: a quote that is never closed takes the rest. Cells are trimmed.
[[nodiscard]] std::vector<std::vector<std::string>> records_of(std::string_view text, char separator);

}  // namespace kinglet::visits
