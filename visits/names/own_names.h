// SPDX-License-Identifier: Apache-2.0
// Why: a table of two columns, a bird and what its owner calls it, becomes a table of names of ours.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "visits/taxa.h"

namespace kinglet::visits {

struct OwnNames {
  std::string text;       // species_id and common_name, as parse_species_table takes it; empty: no name at all
  std::size_t found = 0;  // rows of birds of the model, of the program's table, or called as science does
  std::vector<std::string> missing;  // what the others call their bird; kept, since people name birds as they like
};

// Columns are separated by tabs, commas, semicolons or "=", in either order: the one of which more is known, or of as
// much the one with more names of science, says the bird. A first line of column names is understood. kBadData: not
// text, too large, or a row that has not two cells.
[[nodiscard]] Result<OwnNames> read_own_names(std::string_view text, std::string_view where, const Taxa& taxa);

}  // namespace kinglet::visits
