// SPDX-License-Identifier: Apache-2.0
// Why: what a rewrite of the graph is. One file a pass; passes.def gives their order; runner.h runs them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

// One rewrite that took place: where, and by which pass.
struct Rewrite {
  std::string_view pass;
  std::string node;     // name of the node the pattern is anchored at, as it was before
  std::string op_type;  // its operator before
};

// How much a pass may still do, and the record of what was done. Thread-bound.
class PassBudget {
 public:
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t kFoldAllowance = std::int64_t{4} << 20;

  // What folding may add to the memory and take in steps (Op::steps), over all rounds.
  struct FoldLimits {
    double bytes = 1e18;
    double steps = 1e18;
  };

  explicit PassBudget(std::int64_t rewrites = kUnlimited, std::int64_t fold_allowance = kFoldAllowance,
                      std::int64_t newest_opset = kUnlimited)
      : PassBudget(rewrites, fold_allowance, newest_opset, FoldLimits()) {}
  PassBudget(std::int64_t rewrites, std::int64_t fold_allowance, std::int64_t newest_opset, FoldLimits fold_limits)
      : left_(rewrites), fold_allowance_(fold_allowance), newest_opset_(newest_opset), fold_left_(fold_limits) {}

  // Ask before a rewrite; every rewrite is followed by one spend().
  [[nodiscard]] bool left() const { return left_ > 0; }
  void spend(std::string node, std::string op_type);
  void start(std::string_view pass) { pass_ = pass; }

  // Bytes a folded result may have even when its inputs are smaller.
  [[nodiscard]] std::int64_t fold_allowance() const { return fold_allowance_; }
  // Ask before a node is folded; false: more than what is left.
  [[nodiscard]] bool take_fold(double bytes, double steps);
  // The result may hold operators that came with this opset: a file keeps its own, a session takes all.
  [[nodiscard]] bool may_use_opset(std::int64_t opset) const { return opset <= newest_opset_; }
  [[nodiscard]] const std::vector<Rewrite>& rewrites() const { return rewrites_; }

 private:
  std::int64_t left_;
  std::int64_t fold_allowance_;
  std::int64_t newest_opset_;
  FoldLimits fold_left_;
  std::string_view pass_;
  std::vector<Rewrite> rewrites_;
};

// A pass that looks at one node after the other.
class NodePass {
 public:
  // Answers whether it changed something; the node may be gone then.
  using TryRewrite = bool (*)(Graph& graph, NodeId id);

  // Nodes of the default domain with one of these operators. Where the result may not hold what came with the opset
  // `since`, nothing is done.
  consteval NodePass(std::initializer_list<std::string_view> op_types, TryRewrite try_rewrite, std::int64_t since = 0)
      : op_type_count_(op_types.size()), try_rewrite_(try_rewrite), since_(since) {
    std::ranges::copy(op_types, op_types_.begin());
  }
  // Nodes that `asked` takes.
  consteval NodePass(bool (*asked)(const Node& node), TryRewrite try_rewrite)
      : asked_(asked), try_rewrite_(try_rewrite) {}

  // As Pass::run.
  [[nodiscard]] Result<int> operator()(Graph& graph, PassBudget& budget) const;

 private:
  std::array<std::string_view, 6> op_types_{};
  std::size_t op_type_count_ = 0;  // of them; a node may have an operator without a name
  bool (*asked_)(const Node& node) = nullptr;
  TryRewrite try_rewrite_;
  std::int64_t since_ = 0;
};

enum class PassStage : std::uint8_t {
  kFile,  // the result may be written back to ONNX: `kinglet optimize` and every session
  kPlan,  // sessions only: worth memory there, or would make a file bigger
  kLast,  // sessions only, after nothing else applies: uses attributes ONNX does not have
};

struct Pass {
  std::string_view name;  // also its file, its golden folder and its name on the command line
  PassStage stage = PassStage::kFile;
  std::string_view summary;   // one line for people
  std::string_view why_here;  // the reason for its place in the list
  // Rewrites all it can within the budget; returns how many. 0 means that the graph is untouched. A pattern that does
  // not fit is no error; errors are own bugs of evaluation and name the node.
  Result<int> (*run)(Graph& graph, PassBudget& budget) = nullptr;
};

// Every row of passes.def, in order.
[[nodiscard]] std::span<const Pass> all_passes();

namespace passes {
#define KINGLET_PASS(name, stage, summary, why_here) [[nodiscard]] Result<int> name(Graph& graph, PassBudget& budget);
#define KINGLET_NODE_PASS(name, stage, summary, why_here) extern const NodePass name;
#include "engine/passes/passes.def"
#undef KINGLET_NODE_PASS
#undef KINGLET_PASS
}  // namespace passes

}  // namespace kinglet::engine
