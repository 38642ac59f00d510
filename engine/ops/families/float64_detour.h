// SPDX-License-Identifier: Apache-2.0
// Why: exporters send float32 through float64 and back; kinglet has no float64, but the detours that change nothing, or
// that another operator takes exactly, can go.
#pragma once

#include "engine/ops/op.h"

namespace kinglet::engine::ops {

// Before:     y = Cast(x, to f64) and then Cast back; or CastBack(Log(ReduceSum(Exp(y), axes)))
// After:      the Cast back reads x; or ReduceLogSumExp(x, axes), which takes its sums in double
// Conditions: every number of x is exact in float64; no result between is read by anything else
// Does nothing otherwise: inference then refuses the Cast.
void take_out_float64_detour(Graph& graph, NodeId cast);

}  // namespace kinglet::engine::ops
