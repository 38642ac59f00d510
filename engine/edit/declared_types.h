// SPDX-License-Identifier: Apache-2.0
// Why: what a file declares about types of values must not contradict what it computes after an edit.
#pragma once

#include "engine/graph/graph.h"

namespace onnx {
class GraphProto;
class ValueInfoProto;
}  // namespace onnx

namespace kinglet::engine::edit {

// Outputs without a type get the inferred one. With `changed`, sizes of outputs are the inferred ones and value_info of
// values that are not as declared, or are gone, is removed; names of free dimensions are kept where they still are
// free.
void declare_types(::onnx::GraphProto& graph, const Graph& inferred, bool changed);

// Type and shape of a value of the graph.
void write_type(const Value& value, ::onnx::ValueInfoProto& out);

}  // namespace kinglet::engine::edit
