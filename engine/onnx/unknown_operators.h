// SPDX-License-Identifier: Apache-2.0
// Why: a model with operators kinglet has no idea of is refused once, with all of them in one line.
#pragma once

#include "engine/base/error.h"

namespace onnx {
class GraphProto;
}

namespace kinglet::engine::onnx_format {

// kUnsupported: lists the operators (with a node of each, a count, and the reason where ops/out_of_scope.def has one).
[[nodiscard]] Result<void> refuse_unknown_operators(const ::onnx::GraphProto& graph);

}  // namespace kinglet::engine::onnx_format
