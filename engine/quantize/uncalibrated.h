// SPDX-License-Identifier: Apache-2.0
// Why: what makes a model smaller without pictures to calibrate it by.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

// Half the size: numbers of float16. A smaller positive number than 1e-7 becomes 1e-7 and a finite one above 1e4
// becomes 1e4 (mirrored below 0), as the converters of the field do it (onnxconverter-common's float16); 0, NaN and
// infinity stay.
enum class HalfForm : std::uint8_t {
  kWeights,  // constants are stored so, with a Cast to float32 behind each: answers change by the rounding of weights
             // alone
  kWhole,    // the whole graph computes so between casts at its float32 inputs and outputs
};

struct HalfOptions {
  HalfForm form = HalfForm::kWeights;
  // Names of nodes, or operators, whose weights stay float32; kWhole: they compute in float32 between casts.
  std::set<std::string> keep_float = {};
};

struct HalfReport {
  std::size_t constants = 0;  // that became float16
  std::size_t raised = 0;     // numbers that became +-1e-7
  std::size_t lowered = 0;    // numbers that became +-1e4
};

struct HalfModel {
  Graph graph;
  HalfReport report;
};

// `graph` as open_model gives it; BatchNormalization is folded first, whose variances are too small for float16.
// kBadData: nothing in it is float32; kUsage: keep_float names nothing in it.
[[nodiscard]] Result<HalfModel> to_half_model(const Graph& graph, const HalfOptions& options);

// Of models that are mostly matrix products (transformers, recurrent heads): weights of int8, what they multiply
// rounded to uint8 by its own range at each run (DynamicQuantizeLinear, MatMulInteger).
struct DynamicModel {
  Graph graph;
  std::size_t layers = 0;
};

// `graph` as open_model gives it. Of Gemm and MatMul with constant weights all but `keep_float` (names of nodes); the
// levels lie around 0 with a scale for each column. Convolutions stay: their dynamic form is slow everywhere. kBadData:
// it has no such layer.
[[nodiscard]] Result<DynamicModel> to_dynamic_model(const Graph& graph, const std::set<std::string>& keep_float);

}  // namespace kinglet::engine
