// SPDX-License-Identifier: Apache-2.0
// Why: what is different between two model files, by name: for people who want to see what a tool did to a file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/onnx/document.h"

namespace kinglet::engine {

struct NamedNode {
  std::string name;  // the first output's where the node has none
  std::string op_type;
};

// Something of the same name in both files that is not the same.
struct Changed {
  std::string name;
  std::string op_type;  // of a node; empty for others
  std::string what;     // "input 1: w -> w2; attribute pads: [0, 0] -> [1, 1]"
};

struct FileSummary {
  std::size_t nodes = 0;
  std::map<std::string, std::size_t> operators;
  std::int64_t parameters = 0;  // numbers in initializers and tensors of Constant nodes
  std::uint64_t weight_bytes = 0;
  std::int64_t opset = 0;
};

struct ModelDiff {
  FileSummary before, after;
  std::vector<NamedNode> gone, came;  // in the order of their file
  std::vector<Changed> nodes;
  std::vector<std::string> weights_gone, weights_came;
  std::vector<Changed> weights, inputs, outputs, metadata;
  [[nodiscard]] bool same() const;
};

// Nodes are matched by name and operator. Weights are compared bit by bit. Time is linear in nodes and bytes.
[[nodiscard]] Result<ModelDiff> diff_documents(const Document& before, const Document& after);

}  // namespace kinglet::engine
