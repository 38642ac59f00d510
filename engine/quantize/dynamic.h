// SPDX-License-Identifier: Apache-2.0
// Why: models that are mostly matrix products (transformers, recurrent heads) without calibration: weights of int8,
// what they multiply rounded to uint8 by its own range at each run (DynamicQuantizeLinear, MatMulInteger).
#pragma once

#include <set>
#include <string>

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

struct DynamicModel {
  Graph graph;
  std::size_t layers = 0;
};

// `graph` as open_model gives it. Of Gemm and MatMul with constant weights all but `keep_float` (names of nodes); the
// levels lie around 0 with a scale for each column. Convolutions stay: their dynamic form is slow everywhere. kBadData:
// it has no such layer.
[[nodiscard]] Result<DynamicModel> to_dynamic_model(const Graph& graph, const std::set<std::string>& keep_float);

}  // namespace kinglet::engine
