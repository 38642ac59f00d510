// SPDX-License-Identifier: Apache-2.0
// Why: the verbs by name, for their table.
#pragma once

#include "engine/edit/edit.h"

namespace kinglet::engine::edit::verbs {

#define KINGLET_VERB(identifier) extern const Verb identifier;
#include "engine/edit/verbs.def"
#undef KINGLET_VERB

}  // namespace kinglet::engine::edit::verbs
