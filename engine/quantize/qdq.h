// SPDX-License-Identifier: Apache-2.0
// Why: a quantised graph in ONNX's own terms: QuantizeLinear and DequantizeLinear around every value with levels, int8
// weights and int32 biases behind DequantizeLinear. Any ONNX runtime runs it; kinglet runs it in integers.
#pragma once

#include <map>
#include <vector>

#include "engine/base/error.h"
#include "engine/quantize/calibration/observe.h"
#include "engine/quantize/calibration/ranges.h"
#include "engine/quantize/scheme.h"
#include "engine/quantize/weights/rounding.h"

namespace kinglet::engine {

struct QdqOptions {
  bool per_channel = true;
  bool correct_bias = true;  // what rounding the weights adds to a channel's mean goes out of its bias
  RangeMethod method = RangeMethod::kMse;
  Rounding* rounding = nullptr;  // else each weight goes to its nearest level
};

// `graph`, which the scheme and the observation are of, with levels. kBadData names the layer.
[[nodiscard]] Result<Graph> to_qdq(const Graph& graph, const QuantizationScheme& scheme, const Observation& observed,
                                   const QdqOptions& options);

}  // namespace kinglet::engine
