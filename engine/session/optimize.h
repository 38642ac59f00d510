// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet optimize` as a function: the passes for files, and the proof that they changed no answer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

#include "engine/base/error.h"
#include "engine/graph/graph.h"
#include "engine/passes/runner.h"
#include "engine/session/compare_graphs.h"

namespace kinglet::engine {

struct OptimizeOptions {
  std::set<std::string> only;  // pass names; empty: all passes for files
  std::set<std::string> skip;
  std::string until;
  std::int64_t stop_after_rewrites = PassBudget::kUnlimited;
  bool prove = true;
  std::span<const NamedInputs> pictures = {};  // proven on these as well
  bool allow_growth = false;                   // else constants may grow by 4 % + 64 KiB at most
};

// What a graph is made of.
struct GraphSize {
  std::size_t nodes = 0;
  std::map<std::string, std::size_t> operators;  // count by name, "domain::" in front of foreign ones
  std::int64_t parameters = 0;                   // elements of all constants
  std::int64_t constant_bytes = 0;
};
[[nodiscard]] GraphSize size_of(const Graph& graph);

struct OptimizeReport {
  PassReport passes;
  GraphSize before;
  GraphSize after;
  Comparison proof;          // inputs == 0 without `prove`
  bool folded_less = false;  // constants were left unfolded to keep the growth limit
  double passes_ms = 0;
  double proof_ms = 0;
  // The most memory the process has held so far, when the passes and when the proof had ended.
  std::int64_t passes_peak_bytes = 0;
  std::int64_t proof_peak_bytes = 0;
};

struct Optimized {
  Graph graph;
  OptimizeReport report;
};

// `graph` as open_model gives it (shapes inferred). Errors: kUsage for unknown pass names; kBadData when the result
// would break the growth limit; kInternal when original and result differ: message and where name the output, the first
// rewrite that changes an answer, its number, pass and node; the hint says how to leave the pass out.
[[nodiscard]] Result<Optimized> optimize_model(const Graph& graph, const OptimizeOptions& options = {});

// The same with a runner of passes to prove, for tests that plant a wrong rewrite.
using PassRunner = std::function<Result<PassReport>(Graph&, const PassOptions&)>;
[[nodiscard]] Result<Optimized> optimize_model_with(const Graph& graph, const OptimizeOptions& options,
                                                    const PassRunner& run);

}  // namespace kinglet::engine
