// SPDX-License-Identifier: Apache-2.0
// Why: what the bird of a visit is called where no model is at hand: in the history, in messages, in exports.
#pragma once

#include "visits/visit.h"

namespace kinglet::visits {

// The model's own word where it was among its best; else what the program knows of it, or what a person typed. Only
// species_id is never empty where the visit has one.
[[nodiscard]] NamedScore shown_bird(const Visit& visit);

}  // namespace kinglet::visits
