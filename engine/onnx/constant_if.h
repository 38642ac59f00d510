// SPDX-License-Identifier: Apache-2.0
// Why: exporters leave an `If` whose condition asks about shapes that are fixed by now. Such an If is its branch.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/base/error.h"

namespace onnx {
class GraphProto;
}

namespace kinglet::engine::onnx_format {

// The condition that a graph with this one output computes; nothing when it depends on the data.
using KnownCondition = std::function<std::optional<bool>(const ::onnx::GraphProto& graph)>;

// Each If of the default domain whose condition is known gives way to the nodes and initializers of its branch, under
// names of their own; an If inside a branch counts as well. The others stay, and are refused as operators out of scope.
// At most kMostConditions conditions are asked for. kBadData: a branch that does not fit its If.
inline constexpr int kMostConditions = 64;
[[nodiscard]] Result<void> inline_constant_ifs(::onnx::GraphProto& graph, const KnownCondition& known);

}  // namespace kinglet::engine::onnx_format
