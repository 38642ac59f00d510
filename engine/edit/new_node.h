// SPDX-License-Identifier: Apache-2.0
// Why: two verbs make nodes from words: `add-node` and `new`.
#pragma once

#include <string>
#include <vector>

#include "engine/edit/graph_tools.h"

namespace kinglet::engine::edit {

struct NewNode {
  std::string op_type;  // "Relu", "com.microsoft.FastGelu"
  std::string name;     // empty: made
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes;  // "axis=1"
};

// Appends it. kUsage: an input that is not there, an output or a name that is.
[[nodiscard]] Result<NodeProto*> add_new_node(GraphProto& graph, const NewNode& wanted);

}  // namespace kinglet::engine::edit
