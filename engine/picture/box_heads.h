// SPDX-License-Identifier: Apache-2.0
// Why: declares the readers of box_heads.def, so that their file may define them as constants that boxes.cpp sees.
#pragma once

#include "engine/picture/boxes.h"

namespace kinglet::engine {

#define KINGLET_BOX_HEAD(id, name, reader) extern const BoxHeadReader reader;
#include "engine/recipe/box_heads.def"
#undef KINGLET_BOX_HEAD

}  // namespace kinglet::engine
