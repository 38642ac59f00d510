// SPDX-License-Identifier: Apache-2.0
// Why: a constant that is added to a Conv's result or multiplies it belongs into the Conv: what the two passes share.
#pragma once

#include <functional>
#include <vector>

#include "engine/passes/rewrite.h"

namespace kinglet::engine {

// The node's constant goes into the Conv that it alone reads, and the node goes. `fold` changes that Conv by the
// constant, one number a channel; false: it cannot, and has changed nothing. `either_side`: the Conv may be the second
// input.
[[nodiscard]] bool fold_into_conv(Graph& graph, NodeId id, bool either_side,
                                  const std::function<bool(NodeId conv, std::vector<double> numbers)>& fold);

}  // namespace kinglet::engine
