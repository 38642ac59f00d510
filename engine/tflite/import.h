// SPDX-License-Identifier: Apache-2.0
// Why: the bird models that people have are TensorFlow Lite files. This turns a classifier of them into a Graph that
// says the same in ONNX's terms, for `kinglet convert`.
//
// Every 8-bit number, scale and zero point is kept: quantised tensors become QuantizeLinear and DequantizeLinear around
// float operators. NHWC becomes NCHW: the input is float [1,C,H,W], (pixel - zero point) * scale of a quantised one;
// the recipe says so; that of a float one, and labels, are taken from metadata where the file has them. The rounding of
// a soft-max that is the model's answer is left out. The bytes are taken for hostile.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

// By its identifier.
[[nodiscard]] bool looks_like_tflite(std::string_view start);

struct ImportedTflite {
  Graph graph;  // shapes inferred; "kinglet.recipe" and "kinglet.labels" among its properties where the file has them
  std::vector<std::string> notes;  // what came from beside the graph, and what could not be used, a line each
};

// kBadData: no such file, or one that contradicts itself; kUnsupported names the operator that is not of the
// classifiers known here (tflite/operators.def).
[[nodiscard]] Result<ImportedTflite> import_tflite(std::string_view bytes);

}  // namespace kinglet::engine
