// SPDX-License-Identifier: Apache-2.0
// The order of loading: skim, parse the skeleton, import (names, types, nodes), normalise and infer node by node.
#include "engine/onnx/load.h"

#include <onnx/onnx.pb.h>

#include <format>
#include <set>

#include "engine/graph/verify.h"
#include "engine/onnx/external_data.h"
#include "engine/onnx/import.h"
#include "engine/onnx/tensor_proto.h"
#include "engine/onnx/wire/byte_source.h"
#include "engine/onnx/wire/skim.h"
#include "engine/ops/normalize.h"
#include "engine/ops/op.h"

namespace kinglet::engine {
namespace {

using onnx_format::ByteSource;
using onnx_format::Skeleton;

// New nodes of a normalisation stand in front of the node and are made in an order that can be inferred.
Result<void> infer_from(Graph& graph, NodeId first_new, NodeId node, KnownNumbers& known) {
  for (NodeId id = first_new; id != graph.end_node(); id = NodeId{std::to_underlying(id) + 1}) {
    if (graph.contains(id)) KINGLET_TRY(infer_node(graph, id, known));
  }
  if (!graph.contains(node)) return {};
  return infer_node(graph, node, known);
}

Result<void> normalize_and_infer(Graph& graph, const onnx_format::Opsets& opsets, KnownNumbers& known) {
  const std::vector<NodeId> in_file = graph.nodes();
  for (const NodeId id : in_file) {
    if (!graph.contains(id)) continue;  // an earlier node's inner form took it in
    const NodeId first_new = graph.end_node();
    KINGLET_TRY(ops::normalize_node(graph, id, opsets.version_of(graph.node(id).domain)));
    KINGLET_TRY(infer_from(graph, first_new, id, known));
  }
  return {};
}

// The one output of `part`, a piece of the model, where inference knows it: a bool.
std::optional<bool> known_condition(const ::onnx::ModelProto& model, const ::onnx::GraphProto& part,
                                    const onnx_format::TensorSource& tensors, const onnx_format::Opsets& opsets) {
  ::onnx::ModelProto question;
  question.set_ir_version(model.ir_version());
  *question.mutable_opset_import() = model.opset_import();
  *question.mutable_graph() = part;
  Result<Graph> graph = onnx_format::import_graph(question, tensors);
  KnownNumbers known;
  if (!graph || !normalize_and_infer(*graph, opsets, known)) return std::nullopt;  // the whole model says why
  const ValueId output = graph->outputs()[0];
  const auto at = known.find(std::to_underlying(output));
  const Tensor* answer = at == known.end() ? graph->constant(output) : &at->second;
  if (answer == nullptr || answer->type() != DataType::kBool || answer->element_count() != 1) return std::nullopt;
  return answer->data<bool>()[0];
}

// The parsed file without its numbers.
struct Opened {
  Skeleton skeleton;
  ::onnx::ModelProto model;
};

Result<Opened> parse(const ByteSource& source) {
  if (source.size() == 0) {
    return fail(ErrorCode::kBadData, "is empty, expected an ONNX model", {}, "copy or export the model again");
  }
  Opened opened{.skeleton = KINGLET_TRY(onnx_format::skim(source, onnx_format::MessageKind::kModel)), .model = {}};
  if (!opened.model.ParseFromString(opened.skeleton.bytes) || !opened.model.has_graph()) {
    return fail(ErrorCode::kBadData, "is not an ONNX model: it holds no graph", {},
                "check that the file is whole and was exported as ONNX");
  }
  return opened;
}

Result<Graph> load(const ByteSource& source, const onnx_format::DataFolders& folders,
                   const onnx_format::LateNumbers* late = nullptr) {
  Opened opened = KINGLET_TRY(parse(source));
  return onnx_format::build_graph(opened.model, source, opened.skeleton, folders, late);
}

void collect_data_files(const ::onnx::GraphProto& graph, std::set<std::string>& names) {
  const auto collect = [&](const ::onnx::TensorProto& tensor) {
    if (std::optional<std::string> name = onnx_format::data_file_name(tensor)) names.insert(std::move(*name));
  };
  for (const auto& tensor : graph.initializer()) collect(tensor);
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_t()) collect(attribute.t());
      for (const auto& tensor : attribute.tensors()) collect(tensor);
      if (attribute.has_g()) collect_data_files(attribute.g(), names);
      for (const auto& inner : attribute.graphs()) collect_data_files(inner, names);
    }
  }
}

}  // namespace

Result<Graph> onnx_format::build_graph(::onnx::ModelProto& model, const ByteSource& source, const Skeleton& skeleton,
                                       const DataFolders& folders, const LateNumbers* late) {
  const Opsets opsets = KINGLET_TRY(read_opsets(model));
  KINGLET_TRY(inline_constant_ifs(*model.mutable_graph(), [&](const ::onnx::GraphProto& part) {
    ExternalData asked(folders);
    return known_condition(model, part, {source, skeleton, &asked}, opsets);
  }));
  ExternalData external(folders);
  Graph graph = KINGLET_TRY(import_graph(model, {source, skeleton, &external, late}));
  KnownNumbers known;
  KINGLET_TRY(normalize_and_infer(graph, opsets, known));
  KINGLET_TRY(verify(graph));
  return graph;
}

Result<std::vector<std::string>> data_files(const InputFile& file) {
  const Opened opened = KINGLET_TRY(parse(onnx_format::FileSource(file)));
  std::set<std::string> names;
  collect_data_files(opened.model.graph(), names);
  return std::vector<std::string>(names.begin(), names.end());
}

Result<Graph> load_model(const InputFile& file) {
  return load(onnx_format::FileSource(file), onnx_format::DataFolders::of(file.path()));
}

Result<LateModel> load_model_late(InputFile file) {
  const auto numbers = std::make_shared<const onnx_format::LateNumbers>(std::move(file));
  const InputFile& model = numbers->file();
  Graph graph =
      KINGLET_TRY(load(onnx_format::FileSource(model), onnx_format::DataFolders::of(model.path()), numbers.get()));
  return LateModel{.graph = std::move(graph), .numbers = numbers};
}

Result<Graph> load_model(std::span<const std::byte> bytes, const std::filesystem::path& folder) {
  return load(onnx_format::MemorySource(bytes), folder);
}

}  // namespace kinglet::engine
