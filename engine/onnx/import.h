// SPDX-License-Identifier: Apache-2.0
// Why: a parsed ONNX skeleton becomes a Graph as the file wrote it; nothing is normalised or inferred here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/onnx/tensor_proto.h"

namespace onnx {
class AttributeProto;
class GraphProto;
class ModelProto;
class NodeProto;
}  // namespace onnx

namespace kinglet::engine::onnx_format {

inline constexpr std::int64_t kNewestOpset = 22;

struct Opsets {
  std::vector<std::pair<std::string, std::int64_t>> versions;            // domain ("" for the default), version
  [[nodiscard]] std::int64_t version_of(std::string_view domain) const;  // 1 when the file does not say
};

// "" for "ai.onnx".
[[nodiscard]] std::string_view canonical_domain(std::string_view domain);

// kUnsupported: an opset of the default domain newer than kNewestOpset; kBadData: below 1, or none at all
// from IR version 3 on, where ONNX requires one.
[[nodiscard]] Result<Opsets> read_opsets(const ::onnx::ModelProto& model);

// Constants (initializers, also those listed as inputs: a classifier runs with its own weights; Constant nodes), inputs
// with names of free dimensions, nodes sorted. kUnsupported: unknown operators, all listed, or types out of scope.
[[nodiscard]] Result<Graph> import_graph(const ::onnx::ModelProto& model, const TensorSource& tensors);

// All of loading behind the bytes: inlines constant Ifs into `model`, imports, turns every node into the inner form,
// infers shapes and verifies. External data lies in `folders`; none: it is refused.
[[nodiscard]] Result<Graph> build_graph(::onnx::ModelProto& model, const ByteSource& source, const Skeleton& skeleton,
                                        const DataFolders& folders, const LateNumbers* late = nullptr);

// Exporters leave an `If` whose condition asks about shapes that are fixed by now. Such an If is its branch.
// The condition that a graph with this one output computes; nothing when it depends on the data.
using KnownCondition = std::function<std::optional<bool>(const ::onnx::GraphProto& graph)>;

// Each If of the default domain whose condition is known gives way to the nodes and initializers of its branch, under
// names of their own; an If inside a branch counts as well. The others stay, and are refused as operators out of scope.
// At most kMostConditions conditions are asked for. kBadData: a branch that does not fit its If.
inline constexpr int kMostConditions = 64;
[[nodiscard]] Result<void> inline_constant_ifs(::onnx::GraphProto& graph, const KnownCondition& known);

// A model with operators kinglet has no idea of is refused once, with all of them in one line.
// kUnsupported: lists the operators (with a node of each, a count, and the reason where ops/out_of_scope.def has one).
[[nodiscard]] Result<void> refuse_unknown_operators(const ::onnx::GraphProto& graph);

// Gives each node of a file, asked for in its order and Constant nodes left out, its name in the graph: its own, made
// unique, or "Conv_12".
class NodeNamer {
 public:
  [[nodiscard]] std::string operator()(const ::onnx::NodeProto& node);

 private:
  std::unordered_set<std::string> names_;
};

// The AttributeProto.type that the operator reads an attribute as; 0 when kinglet does not know the attribute.
[[nodiscard]] int attribute_kind(std::string_view op_type, std::string_view name);

// kBadData: an attribute of another kind than its operator has; kUnsupported: sub-graphs and other kinds out of scope.
[[nodiscard]] Result<Attribute> read_attribute(const ::onnx::AttributeProto& proto, std::string_view op_type,
                                               const TensorSource& tensors);

}  // namespace kinglet::engine::onnx_format
