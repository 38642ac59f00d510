// SPDX-License-Identifier: Apache-2.0
// The refusal of a model with operators that kinglet does not know.
#include "engine/onnx/import.h"

#include <onnx/onnx.pb.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/ops/op.h"
#include "engine/ops/out_of_scope.h"

namespace kinglet::engine::onnx_format {
namespace {

// Every node is named; beyond this much text the rest is only counted (hostile files).
constexpr std::size_t kMostText = 16384;

// Passes make operators of this domain for sessions, right by construction; what a file says of them nobody checked.
constexpr std::string_view kOwnDomain = "kinglet";

std::string describe_operator(const ::onnx::NodeProto& node) {
  const std::string_view domain = canonical_domain(node.domain());
  std::string text = domain.empty() ? "" : printable(domain) + ".";
  text += printable(node.op_type(), 60);
  if (domain == kOwnDomain) return text + " (is kinglet's own, for its runs, and in no file)";
  if (const std::string_view why = out_of_scope_reason(domain, node.op_type()); !why.empty())
    text += format_text(" ({})", why);
  return text;
}

std::string node_name(const ::onnx::NodeProto& node) {
  const std::string& name = node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  return format_text("\"{}\"", printable(name, 60));
}

// The nodes of one unknown operator, in the order of the file.
struct Unknown {
  std::string what;
  std::vector<std::string> nodes;
};

// LRN at "n2", "n6"; If (holds a sub-graph) at "branch"
std::string list_nodes(const std::vector<Unknown>& unknown, std::size_t count) {
  std::string list;
  std::size_t named = 0;
  for (const Unknown& row : unknown) {
    for (std::size_t i = 0; i < row.nodes.size(); ++i) {
      if (list.size() > kMostText) return list + format_text(" and {} more", count - named);
      if (i == 0) list += format_text("{}{} at ", list.empty() ? "" : "; ", row.what);
      list += (i > 0 ? ", " : "") + row.nodes[i];
      ++named;
    }
  }
  return list;
}

}  // namespace

Result<void> refuse_unknown_operators(const ::onnx::GraphProto& graph) {
  std::vector<Unknown> unknown;
  std::unordered_map<std::string, std::size_t> rows;
  std::size_t count = 0;
  for (const auto& node : graph.node()) {
    const std::string_view domain = canonical_domain(node.domain());
    if (domain.empty() && node.op_type() == "Constant") continue;
    if (domain != kOwnDomain && find_op(domain, node.op_type()) != nullptr) continue;
    std::string what = describe_operator(node);
    const std::size_t row = rows.try_emplace(what, unknown.size()).first->second;
    if (row == unknown.size()) unknown.push_back({.what = std::move(what), .nodes = {}});
    unknown[row].nodes.push_back(node_name(node));
    ++count;
  }
  if (unknown.empty()) return {};
  return fail(ErrorCode::kUnsupported,
              format_text("{} node{} with operators kinglet does not run: {}", count, count == 1 ? "" : "s",
                          list_nodes(unknown, count)),
              {}, "kinglet runs image classifiers; export only the classifier part of the model");
}

}  // namespace kinglet::engine::onnx_format
