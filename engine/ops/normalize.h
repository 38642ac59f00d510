// SPDX-License-Identifier: Apache-2.0
// Why: the steps by which operators turn old opset forms into the inner form, shared by the families.
// The graph is whole before and after each; shapes of the node's inputs are inferred already where they can be.
#pragma once

#include <string_view>

#include "engine/ops/op.h"

namespace kinglet::engine::ops {

// The node's own normalize, as opset `opset` of its domain wrote it. New nodes stand in front of it.
[[nodiscard]] Result<void> normalize_node(Graph& graph, NodeId id, std::int64_t opset);

// A constant that this node alone reads, named after the node.
[[nodiscard]] ValueId add_node_constant(Graph& graph, NodeId id, std::string_view role, Tensor tensor);
[[nodiscard]] Tensor int64_tensor(std::span<const std::int64_t> values);  // rank 1

// Sets input `index`, growing the list when it is shorter.
void set_or_add_input(Graph& graph, NodeId id, std::size_t index, ValueId value);

// The integer list attribute becomes a constant int64 input; nothing when absent.
void ints_to_input(Graph& graph, NodeId id, std::string_view attribute, std::size_t index);

// Opset 1 to 6 arithmetic: `broadcast` and `axis` attributes align input 1 under input 0. Inserts an Unsqueeze where
// numpy's rule would align it differently. Removes consumed_inputs too.
[[nodiscard]] Result<void> normalize_legacy_broadcast(Graph& graph, NodeId id, std::int64_t opset);

// Puts a node in front of `before` that reads `inputs`; its single output gets the type, its shape is not known yet.
[[nodiscard]] ValueId insert_before(Graph& graph, NodeId before, std::string_view op_type, std::vector<ValueId> inputs,
                                    Attributes attributes, DataType type);

// The node becomes `op_type` of ONNX with these inputs and attributes; it keeps its name and outputs.
void become(Graph& graph, NodeId id, std::string_view op_type, const std::vector<ValueId>& inputs,
            Attributes attributes);

// kBadData or kUnsupported naming the node.
[[nodiscard]] std::unexpected<Error> refuse(const Graph& graph, NodeId id, ErrorCode code, std::string message,
                                            std::string hint = {});

}  // namespace kinglet::engine::ops
