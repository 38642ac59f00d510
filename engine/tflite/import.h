// SPDX-License-Identifier: Apache-2.0
// Why: the bird models that people have are TensorFlow Lite files. This turns a classifier of them into a Graph that
// says the same in ONNX's terms, for `kinglet convert`.
//
// Every 8-bit number, scale and zero point is kept: quantised tensors become QuantizeLinear and DequantizeLinear around
// float operators. NHWC becomes NCHW: the input is float [1,C,H,W], (pixel - zero point) * scale of a quantised one;
// the recipe says so. The rounding of a soft-max that is the model's answer is left out. The bytes are taken for
// hostile.
#pragma once

#include <optional>
#include <string_view>

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

// By its identifier.
[[nodiscard]] bool looks_like_tflite(std::string_view start);

// With "kinglet.recipe" among its properties where the input is quantised, shapes inferred. kBadData: no such file, or
// one that contradicts itself; kUnsupported names the operator that is not of the classifiers known here
// (tflite/operators.def).
[[nodiscard]] Result<Graph> import_tflite(std::string_view bytes);

}  // namespace kinglet::engine
