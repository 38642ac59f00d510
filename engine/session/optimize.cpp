// SPDX-License-Identifier: Apache-2.0
#include "engine/session/optimize.h"

#include <sys/resource.h>

#include <chrono>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/base/units.h"
#include "engine/onnx/save.h"

namespace kinglet::engine {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

PassOptions pass_options(const Graph& graph, const OptimizeOptions& options) {
  PassOptions passes;
  // What the file is written in anyway, so that a second run finds nothing more.
  if (graph.metadata.opset != 0) passes.newest_opset = opset_to_write(graph);
  passes.only = options.only;
  passes.skip = options.skip;
  passes.until = options.until;
  passes.stop_after_rewrites = options.stop_after_rewrites;
  return passes;
}

bool grew(const GraphSize& before, const GraphSize& after) {
  // As much as folding what ONNX Runtime's BASIC level folds takes: the tables of Swin V2's positions are 2.8 % of its
  // weights.
  constexpr std::int64_t kMostGrowthPercent = 4;
  constexpr std::int64_t kSlack = 64 << 10;
  return after.constant_bytes > before.constant_bytes + before.constant_bytes * kMostGrowthPercent / 100 + kSlack;
}

std::int64_t peak_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

// The number of the first rewrite that changes an answer, counted from 1, by halving; on the set of inputs that showed
// the difference.
Result<std::int64_t> find_wrong_rewrite(const Graph& graph, const PassOptions& options, std::int64_t rewrites,
                                        const CompareOptions& inputs, const PassRunner& run) {
  std::int64_t right = 0;
  std::int64_t wrong = rewrites;
  while (wrong - right > 1) {
    const std::int64_t middle = right + (wrong - right) / 2;
    PassOptions part_options = options;
    part_options.stop_after_rewrites = middle;
    Graph part = graph;
    KINGLET_TRY(run(part, part_options));
    const Comparison found = KINGLET_TRY(compare_graphs(graph, part, inputs));
    (found.same ? right : wrong) = middle;
  }
  return wrong;
}

std::unexpected<Error> refuse(const Graph& graph, const PassOptions& options, const OptimizeReport& report,
                              CompareOptions inputs, const PassRunner& run) {
  const std::vector<Rewrite>& rewrites = report.passes.rewrites;
  if (rewrites.empty()) {
    return fail(ErrorCode::kInternal, format_text("the model does not answer alike twice: {}", report.proof.difference),
                {}, "please report this model");
  }
  inputs.only_input = report.proof.difference_input;
  const auto wrong = find_wrong_rewrite(graph, options, std::ssize(rewrites), inputs, run);
  if (!wrong) return std::unexpected(with_context(wrong.error(), "looking for the wrong rewrite"));
  const Rewrite& rewrite = rewrites[static_cast<std::size_t>(*wrong - 1)];
  return fail(ErrorCode::kInternal,
              format_text("{} would change the model's answers: {}", rewrite.pass, report.proof.difference),
              format_text("rewrite {} of {}, node \"{}\" ({})", *wrong, rewrites.size(), printable(rewrite.node),
                          rewrite.op_type),
              format_text("please report this model; --skip {} leaves the pass out", rewrite.pass));
}

}  // namespace

GraphSize size_of(const Graph& graph) {
  GraphSize size{.nodes = graph.node_count()};
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    ++size.operators[node.domain.empty() ? node.op_type : format_text("{}::{}", node.domain, node.op_type)];
  }
  for (const ValueId id : graph.values()) {
    const Tensor* constant = graph.constant(id);
    if (constant == nullptr) continue;
    size.constant_bytes += static_cast<std::int64_t>(constant->byte_count());
    size.parameters += constant->element_count();
  }
  return size;
}

Result<Optimized> optimize_model_with(const Graph& graph, const OptimizeOptions& options, const PassRunner& run) {
  Optimized done{.graph = graph, .report = {}};
  OptimizeReport& report = done.report;
  report.before = size_of(graph);
  PassOptions passes = pass_options(graph, options);
  const auto start = Clock::now();
  report.passes = KINGLET_TRY(run(done.graph, passes));
  report.after = size_of(done.graph);
  if (!options.allow_growth && grew(report.before, report.after)) {
    passes.fold_allowance = 0;
    report.folded_less = true;
    done.graph = graph;
    report.passes = KINGLET_TRY(run(done.graph, passes));
    report.after = size_of(done.graph);
    if (grew(report.before, report.after)) {
      return fail(ErrorCode::kBadData,
                  format_text("optimising would grow the constants from {} to {}",
                              format_bytes({static_cast<std::uint64_t>(report.before.constant_bytes)}),
                              format_bytes({static_cast<std::uint64_t>(report.after.constant_bytes)})),
                  {}, "--allow-growth writes it all the same");
    }
  }
  report.passes_ms = Milliseconds(Clock::now() - start).count();
  report.passes_peak_bytes = peak_bytes();
  if (!options.prove) return done;
  const auto proof_start = Clock::now();
  const CompareOptions inputs{.pictures = options.pictures};
  report.proof = KINGLET_TRY(compare_graphs(graph, done.graph, inputs));
  if (!report.proof.same) return refuse(graph, passes, report, inputs, run);
  report.proof_ms = Milliseconds(Clock::now() - proof_start).count();
  report.proof_peak_bytes = peak_bytes();
  return done;
}

Result<Optimized> optimize_model(const Graph& graph, const OptimizeOptions& options) {
  return optimize_model_with(graph, options, run_passes);
}

}  // namespace kinglet::engine
