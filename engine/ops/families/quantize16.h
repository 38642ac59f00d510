// SPDX-License-Identifier: Apache-2.0
// Why: ONNX Runtime's quantiser can give activations 16 bits. kinglet has no such type: it runs the pair of
// QuantizeLinear and DequantizeLinear, which only rounds, as float operators that round the same.
#pragma once

#include <string_view>

#include "engine/ops/op.h"

namespace kinglet::engine::ops {

// Attribute that load gives to a QuantizeLinear whose result has 16 bits: its least and its greatest level. Never from
// a file.
inline constexpr std::string_view kLevels = "kinglet_levels";

// Before:     q = QuantizeLinear(x, scale, zero) {kinglet_levels}; y = DequantizeLinear(q, scale2, zero2)
// After:      q = Clip(Round(x / scale), low - zero, high - zero); y = q * scale2
// Conditions: one scale and one constant zero point each, zero2 = zero, x in float32, q is read by DequantizeLinear
//             alone. kUnsupported otherwise. Does nothing without the attribute.
[[nodiscard]] Result<void> take_out_16_bits(Graph& graph, NodeId quantize);

}  // namespace kinglet::engine::ops
