// SPDX-License-Identifier: Apache-2.0
// Why: declares every row of ops.def, so that a family's file may define it as a constant with a name others see.
#pragma once

#include "engine/ops/op.h"

namespace kinglet::engine::ops {

#define KINGLET_OP(variable) extern const Op variable;
#include "engine/ops/ops.def"
#undef KINGLET_OP

}  // namespace kinglet::engine::ops
