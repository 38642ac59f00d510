// SPDX-License-Identifier: Apache-2.0
// Why: runs the passes of passes.def to a fixpoint, checks the graph after each, and tells what was done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/passes/pass.h"

namespace kinglet::engine {

struct PassOptions {
  bool for_session = false;    // adds the stages kPlan and kLast
  std::set<std::string> only;  // empty: all of the stage
  std::set<std::string> skip;
  std::string until;  // the last pass of a round; empty: all
  std::int64_t stop_after_rewrites = PassBudget::kUnlimited;
  std::int64_t fold_allowance = PassBudget::kFoldAllowance;
  // Bytes that folding may add besides as many as the graph's constants have; the work it may do grows with it.
  std::int64_t fold_memory = std::int64_t{64} << 20;
  std::int64_t newest_opset = 0;  // operators of later opsets are not made; 0: the graph's own. A session takes all.
  // Verifies the graph after each pass that changed it. An invalid graph is kInternal and names the pass.
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;
#endif
};

struct PassRow {
  std::string_view name;
  int rewrites = 0;  // over all rounds
  double ms = 0;     // over all rounds, shape inference and verification behind it included
};

struct NodeRow {
  std::string name;
  std::string op_type;
  std::string_view pass;  // which took or made it
};

struct PassReport {
  std::size_t nodes_before = 0;
  std::size_t nodes_after = 0;
  int rounds = 0;
  bool settled = true;            // false: the bound on rounds was reached first
  std::vector<PassRow> passes;    // those that ran, in order
  std::vector<NodeRow> removed;   // nodes of the graph before that are gone, in order of removal
  std::vector<NodeRow> added;     // nodes that were not there before and stayed
  std::vector<NodeRow> changed;   // nodes that stayed and compute something else now, or read something else
  std::vector<Rewrite> rewrites;  // every single step, in order: what stop_after_rewrites counts
  [[nodiscard]] int rewrite_count() const { return static_cast<int>(rewrites.size()); }
};

// Shapes must have been inferred. kUsage: a name in only, skip or until is no pass (hint: the nearest). kInternal: a
// pass left an invalid graph. On an error the graph is in a middle state.
[[nodiscard]] Result<PassReport> run_passes(Graph& graph, const PassOptions& options = {});

}  // namespace kinglet::engine
