// SPDX-License-Identifier: Apache-2.0
// Why: lists of birds as people have them become a list of ours: names a line however they are numbered or paired, the
// tables that eBird lets people download (of which Merlin's life list is one), and eBird's bar charts of a region.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::visits {

enum class PastedForm : std::uint8_t { kLines, kTable, kBarChart };
[[nodiscard]] std::string_view to_string(PastedForm form);  // "lines", "table", "bar_chart"

struct PastedList {
  PastedForm form = PastedForm::kLines;
  std::string text;          // as SpeciesList::parse takes it; empty: no bird at all
  std::size_t left_out = 0;  // entries that are no species ("gull sp."), or too rare in a bar chart
};

// A table has a first line with a column of names ("Common Name", "Scientific Name", "PRIMARY_COM_NAME", ...),
// separated by commas, semicolons or tabs. A bar chart says how often a bird was told in each quarter of each month: a
// bird's months are those in which one list in a thousand has it, and a bird without any is left out. Lines keep their
// comments and months. kBadData: not text, or too large.
[[nodiscard]] Result<PastedList> read_pasted_list(std::string_view text, std::string_view where);

}  // namespace kinglet::visits
