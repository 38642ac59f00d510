// SPDX-License-Identifier: Apache-2.0
// Why: models/names/birds.tsv as the build has it.
#pragma once

#include <string_view>

namespace kinglet::visits {

[[nodiscard]] std::string_view bird_names_text();

}  // namespace kinglet::visits
