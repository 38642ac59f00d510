// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/unknown_operators.h"

#include <onnx/onnx.pb.h>

#include <algorithm>
#include <format>
#include <string>
#include <vector>

#include "engine/base/text.h"
#include "engine/onnx/import.h"
#include "engine/ops/op.h"

namespace kinglet::engine::onnx_format {
namespace {

constexpr std::size_t kMostNodes = 8;

std::string_view reason(std::string_view domain, std::string_view op_type) {
  struct Row {
    std::string_view op_type;
    std::string_view text;
  };
  static constexpr Row kRows[] = {
#define KINGLET_OUT_OF_SCOPE(op_type, text) {op_type, text},
#include "engine/ops/out_of_scope.def"
#undef KINGLET_OUT_OF_SCOPE
  };
  if (!domain.empty()) return "";
  const auto at = std::ranges::find(kRows, op_type, &Row::op_type);
  return at == std::ranges::end(kRows) ? "" : at->text;
}

std::string describe_node(const ::onnx::NodeProto& node) {
  const std::string_view domain = canonical_domain(node.domain());
  std::string text = domain.empty() ? "" : printable(domain) + ".";
  text += printable(node.op_type(), 60);
  if (const std::string_view why = reason(domain, node.op_type()); !why.empty()) text += std::format(" ({})", why);
  const std::string& name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  return text + std::format(" at \"{}\"", printable(name, 60));
}

}  // namespace

Result<void> refuse_unknown_operators(const ::onnx::GraphProto& graph) {
  std::vector<std::string> unknown;
  for (const auto& node : graph.node()) {
    const std::string_view domain = canonical_domain(node.domain());
    if (domain.empty() && node.op_type() == "Constant") continue;
    if (find_op(domain, node.op_type()) == nullptr) unknown.push_back(describe_node(node));
  }
  if (unknown.empty()) return {};
  std::string list;
  for (std::size_t i = 0; i < std::min(unknown.size(), kMostNodes); ++i) list += (i > 0 ? ", " : "") + unknown[i];
  if (unknown.size() > kMostNodes) list += std::format(" and {} more", unknown.size() - kMostNodes);
  return fail(ErrorCode::kUnavailable,
              std::format("{} node{} with operators kinglet does not run: {}", unknown.size(),
                          unknown.size() == 1 ? "" : "s", list),
              {}, "kinglet runs image classifiers; export only the classifier part of the model");
}

}  // namespace kinglet::engine::onnx_format
