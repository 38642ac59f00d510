// SPDX-License-Identifier: Apache-2.0
// Which opset a graph needs: for each operator the first one whose form is the inner form.
#include <algorithm>
#include <array>
#include <string_view>

#include "engine/onnx/save.h"

namespace kinglet::engine {
namespace {

constexpr std::int64_t kLowest = 13;   // axes of Squeeze and ReduceSum as inputs, Softmax along one axis
constexpr std::int64_t kHighest = 21;  // what ONNX Runtime 1.21 knows completely

struct Since {
  std::string_view op_type;
  std::int64_t opset;
};
constexpr std::array kSince{
    Since{"HardSwish", 14},
    Since{"Trilu", 14},
    Since{"CumSum", 14},
    Since{"CastLike", 15},
    Since{"LayerNormalization", 17},
    Since{"Mish", 18},
    Since{"Resize", 18},
    Since{"ReduceMax", 18},
    Since{"ReduceMin", 18},
    Since{"ReduceMean", 18},
    Since{"ReduceProd", 18},
    Since{"ReduceL1", 18},
    Since{"ReduceL2", 18},
    Since{"ReduceLogSum", 18},
    Since{"ReduceLogSumExp", 18},
    Since{"ReduceSumSquare", 18},
    Since{"Gelu", 20},
    Since{"GroupNormalization", 21},
};

struct AttributeSince {
  std::string_view op_type, attribute;
  std::int64_t opset;
};
constexpr std::array kAttributeSince{
    AttributeSince{"Reshape", "allowzero", 14},
    AttributeSince{"Shape", "start", 15},
    AttributeSince{"Shape", "end", 15},
    AttributeSince{"ScatterND", "reduction", 18},
    AttributeSince{"ScatterElements", "reduction", 18},
    AttributeSince{"Split", "num_outputs", 18},
    AttributeSince{"LpPool", "dilations", 18},
    AttributeSince{"LpPool", "ceil_mode", 18},
    AttributeSince{"AveragePool", "dilations", 19},
    AttributeSince{"Resize", "keep_aspect_ratio_policy", 18},
    AttributeSince{"Cast", "saturate", 19},
    AttributeSince{"QuantizeLinear", "saturate", 19},
    AttributeSince{"QuantizeLinear", "output_dtype", 21},
    AttributeSince{"QuantizeLinear", "block_size", 21},
    AttributeSince{"DequantizeLinear", "block_size", 21},
};

bool is_narrow(DataType type) { return type == DataType::kI8 || type == DataType::kU8; }

std::int64_t opset_of_types(const Graph& graph, const Node& node) {
  const DataType type =
      node.inputs.empty() || node.inputs[0] == kNoValue ? DataType::kF32 : graph.value(node.inputs[0]).type;
  constexpr std::array<std::string_view, 4> kArithmetic{"Add", "Sub", "Mul", "Div"};
  if (is_narrow(type) && std::ranges::find(kArithmetic, node.op_type) != kArithmetic.end()) return 14;
  if (node.op_type == "Relu" && type != DataType::kF32 && type != DataType::kF16) return 14;
  const bool scaled = node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear";
  if (scaled && node.inputs.size() > 1 && graph.value(node.inputs[1]).type == DataType::kF16) return 19;
  return kLowest;
}

std::int64_t opset_of(const Graph& graph, const Node& node) {
  std::int64_t opset = opset_of_types(graph, node);
  for (const Since& row : kSince) {
    if (row.op_type == node.op_type) opset = std::max(opset, row.opset);
  }
  for (const AttributeSince& row : kAttributeSince) {
    if (row.op_type == node.op_type && node.attributes.find(row.attribute) != nullptr)
      opset = std::max(opset, row.opset);
  }
  if (node.op_type == "Pad") {
    if (node.inputs.size() > 3) opset = std::max<std::int64_t>(opset, 18);
    if (node.attributes.get_string("mode", "") == "wrap") opset = std::max<std::int64_t>(opset, 19);
  }
  return opset;
}

}  // namespace

std::int64_t opset_of_node(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return node.domain.empty() ? opset_of(graph, node) : kLowest;
}

std::int64_t opset_to_write(const Graph& graph) {
  std::int64_t opset = std::clamp(graph.metadata.opset, kLowest, kHighest);
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).domain.empty()) opset = std::max(opset, opset_of(graph, graph.node(id)));
  }
  return opset;
}

}  // namespace kinglet::engine
