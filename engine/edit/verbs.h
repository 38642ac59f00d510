// SPDX-License-Identifier: Apache-2.0
// Why: the verbs by name, for their table (verbs.def).
#pragma once

#include "engine/edit/edit.h"

namespace kinglet::engine::edit::verbs {

#define KINGLET_VERB(identifier, name, summary, example) extern const VerbParts identifier;
#include "engine/edit/verbs.def"
#undef KINGLET_VERB

}  // namespace kinglet::engine::edit::verbs
