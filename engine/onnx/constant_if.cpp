// SPDX-License-Identifier: Apache-2.0
// An If whose condition is fixed gives way to its branch.
#include "engine/onnx/import.h"

#include <onnx/onnx.pb.h>

#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::engine::onnx_format {
namespace {

using ::onnx::GraphProto;
using ::onnx::NodeProto;

using Names = std::unordered_map<std::string, std::string>;

bool is_if(const NodeProto& node) { return node.op_type() == "If" && canonical_domain(node.domain()).empty(); }

// What makes `name`, and what that needs: nodes in their order, initializers, inputs. Nothing is run.
GraphProto ancestors_of(const std::string& name, const std::deque<NodeProto>& nodes, const GraphProto& graph) {
  std::unordered_set<std::string> needed{name};
  std::vector<const NodeProto*> found;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    bool makes = false;
    for (const std::string& output : node->output()) makes = makes || (!output.empty() && needed.contains(output));
    if (!makes) continue;
    found.push_back(&*node);
    for (const std::string& input : node->input()) needed.insert(input);
  }
  GraphProto part;
  for (auto node = found.rbegin(); node != found.rend(); ++node) *part.add_node() = **node;
  for (const auto& initializer : graph.initializer()) {
    if (needed.contains(initializer.name())) *part.add_initializer() = initializer;
  }
  for (const auto& input : graph.input()) {
    if (needed.contains(input.name())) *part.add_input() = input;
  }
  part.add_output()->set_name(name);
  return part;
}

void rename(std::string& name, const Names& names) {
  if (const auto at = names.find(name); at != names.end()) name = at->second;
}

// Depth is bounded by protobuf's own limit on nested messages.
void rename_uses(GraphProto& graph, const Names& names);  // NOLINT(misc-no-recursion)
void rename_uses(NodeProto& node, const Names& names) {   // NOLINT(misc-no-recursion)
  for (std::string& input : *node.mutable_input()) rename(input, names);
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) rename_uses(*attribute.mutable_g(), names);
  }
}
void rename_uses(GraphProto& graph, const Names& names) {  // NOLINT(misc-no-recursion)
  for (NodeProto& node : *graph.mutable_node()) rename_uses(node, names);
  for (auto& output : *graph.mutable_output()) rename(*output.mutable_name(), names);
}

class Inliner {
 public:
  Inliner(GraphProto& graph, const KnownCondition& known) : graph_(graph), known_(known) {}

  Result<void> run() {
    std::deque<NodeProto> left;
    for (NodeProto& node : *graph_.mutable_node()) left.push_back(std::move(node));
    while (!left.empty()) {
      NodeProto node = std::move(left.front());
      left.pop_front();
      const std::optional<bool> condition = is_if(node) ? condition_of(node) : std::nullopt;
      if (!condition) {
        done_.push_back(std::move(node));
        continue;
      }
      std::vector<NodeProto> branch = KINGLET_TRY(nodes_of_branch(node, *condition));
      left.insert(left.begin(), std::make_move_iterator(branch.begin()), std::make_move_iterator(branch.end()));
    }
    graph_.clear_node();
    for (NodeProto& node : done_) *graph_.add_node() = std::move(node);
    return {};
  }

 private:
  std::optional<bool> condition_of(const NodeProto& node) {
    if (node.input_size() != 1 || asked_ >= kMostConditions) return std::nullopt;
    ++asked_;
    return known_(ancestors_of(node.input(0), done_, graph_));
  }

  // Renamed, with an Identity for each output of the If; initializers move to the graph.
  Result<std::vector<NodeProto>> nodes_of_branch(NodeProto& node, bool condition) {
    const auto wrong = [&](std::string_view what) {
      return fail(ErrorCode::kBadData, std::string(what),
                  format_text("node \"{}\" (If)", printable(node.name().empty() ? node.output(0) : node.name())));
    };
    if (node.output_size() == 0) return fail(ErrorCode::kBadData, "an If has no output");
    GraphProto* branch = nullptr;
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.name() == (condition ? "then_branch" : "else_branch")) branch = attribute.mutable_g();
    }
    if (branch == nullptr) return wrong("has not both branches");
    if (branch->input_size() > 0) return wrong("has a branch with inputs");
    if (branch->output_size() != node.output_size()) return wrong("has a branch with another number of outputs");
    const std::string prefix = format_text("{}/branch{}/", node.output(0), ++inlined_);
    Names names;
    for (auto& initializer : *branch->mutable_initializer()) {
      names[initializer.name()] = prefix + initializer.name();
      initializer.set_name(prefix + initializer.name());
      *graph_.add_initializer() = std::move(initializer);
    }
    for (NodeProto& inner : *branch->mutable_node()) {
      for (std::string& output : *inner.mutable_output()) {
        if (output.empty()) continue;
        names[output] = prefix + output;
        output.insert(0, prefix);
      }
    }
    rename_uses(*branch, names);
    std::vector<NodeProto> nodes;
    for (NodeProto& inner : *branch->mutable_node()) nodes.push_back(std::move(inner));
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      NodeProto& copy = nodes.emplace_back();
      copy.set_op_type("Identity");
      copy.add_input(branch->output(i).name());
      copy.add_output(node.output(i));
    }
    return nodes;
  }

  GraphProto& graph_;
  const KnownCondition& known_;
  std::deque<NodeProto> done_;
  int asked_ = 0;
  int inlined_ = 0;
};

}  // namespace

Result<void> inline_constant_ifs(GraphProto& graph, const KnownCondition& known) {
  bool any = false;
  for (const NodeProto& node : graph.node()) any = any || is_if(node);
  if (!any) return {};
  return Inliner(graph, known).run();
}

}  // namespace kinglet::engine::onnx_format
