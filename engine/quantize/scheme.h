// SPDX-License-Identifier: Apache-2.0
// Why: which nodes of a float graph run in integers, and which values therefore have levels.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace kinglet::engine {

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

}  // namespace kinglet::engine
