// SPDX-License-Identifier: Apache-2.0
// Why: when a QuantizeLinear undoes a DequantizeLinear exactly: what eliminate_quantize_pairs and move_dequantize ask.
#pragma once

#include "engine/passes/rewrite.h"

namespace kinglet::engine {

// Scale and zero point of both are fixed constants with equal bits for the same axis, of the same 8-bit type; every
// scale is a positive normal number whose 255-fold is finite, so that dividing gives back what was multiplied.
[[nodiscard]] bool undoes(const Graph& graph, const Node& quantize, const Node& dequantize);

}  // namespace kinglet::engine
