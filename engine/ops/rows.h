// SPDX-License-Identifier: Apache-2.0
// Why: declares the parts of every row of ops.def, so that a family's file may define them as a constant with a name
// others see, and makes those that many operators have alike.
#pragma once

#include "engine/ops/op.h"

namespace kinglet::engine::ops {

#define KINGLET_OP(variable, domain, op_type, min_inputs, max_inputs, max_outputs, layout) \
  extern const OpParts variable;
#include "engine/ops/ops.def"
#undef KINGLET_OP

using Normalize = decltype(OpParts::normalize);
using Infer = decltype(OpParts::infer);
using Evaluate = decltype(OpParts::evaluate);
using Lower = decltype(OpParts::lower);

// Of an operator that makes each number of output 0 from the one at its place in input 0.
[[nodiscard]] constexpr OpParts each_number(Infer infer, Evaluate evaluate, Lower lower = nullptr, Traits traits = {}) {
  traits.elementwise = Elementwise::kUnary;
  return {.infer = infer, .evaluate = evaluate, .lower = lower, .traits = traits};
}

}  // namespace kinglet::engine::ops
