// SPDX-License-Identifier: Apache-2.0
// Why: which nodes of a float graph run in integers, and that graph in ONNX's own terms: QuantizeLinear and
// DequantizeLinear around every value with levels, int8 weights and int32 biases behind DequantizeLinear. Any ONNX
// runtime runs it; kinglet runs it in integers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/quantize/calibration/observe.h"
#include "engine/quantize/calibration/ranges.h"
#include "engine/quantize/weights/rounding.h"

namespace kinglet::engine {

// Which nodes run in integers, and which values therefore have levels.
struct QuantizationScheme {
  std::vector<NodeId> layers;  // with int8 weights, in the order of the graph
  // Values that are rounded to int8, each with the number of its group: those of one group share scale and zero point
  // (a pool and what it reads, the parts of a join).
  std::map<ValueId, std::size_t> values;
  std::size_t groups = 0;
};

// Layers all but `kept_float` (names of nodes); between them Add, Mul, GlobalAveragePool, functions (Sigmoid, Tanh,
// HardSwish ...) and what only moves numbers, where all around it runs in integers. The last layer keeps a float
// result: what comes behind it is the answer.
[[nodiscard]] QuantizationScheme choose_scheme(const Graph& graph, const std::set<std::string>& kept_float);

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
