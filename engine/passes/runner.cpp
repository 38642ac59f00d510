// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/runner.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/graph/verify.h"
#include "engine/ops/op.h"

namespace kinglet::engine {

namespace {

#define KINGLET_PASS(name, stage, summary, why_here) \
  {#name, PassStage::stage, summary, why_here,       \
   [](Graph& graph, PassBudget& budget) -> Result<int> { return passes::name(graph, budget); }},
#define KINGLET_NODE_PASS KINGLET_PASS
constexpr Pass kPasses[] = {
#include "engine/passes/passes.def"
};
#undef KINGLET_NODE_PASS
#undef KINGLET_PASS

// Every rewrite makes the graph smaller or simpler; real models settle in two to four rounds.
constexpr int kRoundLimit = 50;

using Clock = std::chrono::steady_clock;

// What a node computes, cheap to keep and compare: tensors share their numbers.
struct NodeState {
  std::string name;
  std::string op_type;
  std::vector<ValueId> inputs;
  std::vector<std::pair<std::string, Attribute>> attributes;
  std::vector<const void*> constants;  // where the numbers of its constant inputs are
};

bool same_attribute(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* tensor = std::get_if<Tensor>(&a)) return tensor->bit_equal(std::get<Tensor>(b));
  return std::visit(
      [&]<typename T>(const T& left) {
        if constexpr (std::is_same_v<T, Tensor>) {
          return true;
        } else {
          return left == std::get<T>(b);
        }
      },
      a);
}

bool same_state(const NodeState& a, const NodeState& b) {
  return a.op_type == b.op_type && a.inputs == b.inputs && a.constants == b.constants &&
         std::ranges::equal(a.attributes, b.attributes, [](const auto& left, const auto& right) {
           return left.first == right.first && same_attribute(left.second, right.second);
         });
}

NodeState state_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  NodeState state{.name = node.name,
                  .op_type = node.op_type,
                  .inputs = node.inputs,
                  .attributes = {node.attributes.begin(), node.attributes.end()},
                  .constants = {}};
  for (const ValueId input : node.inputs) {
    const Tensor* constant = graph.constant(input);
    if (constant != nullptr) state.constants.push_back(constant->place());
  }
  return state;
}

// Follows which nodes go, come and change from pass to pass.
class Changes {
 public:
  explicit Changes(const Graph& graph) {
    for (const NodeId id : graph.nodes()) known_.push_back({id, state_of(graph, id), {}, {}});
  }

  void look(const Graph& graph, std::string_view pass, PassReport& report) {
    std::erase_if(known_, [&](Known& known) {
      if (graph.contains(known.id)) return false;
      if (known.added_by.empty()) report.removed.push_back({known.state.name, known.state.op_type, pass});
      return true;
    });
    std::unordered_map<std::uint32_t, Known*> by_id;
    for (Known& known : known_) by_id.emplace(std::to_underlying(known.id), &known);
    std::vector<Known> added;
    for (const NodeId id : graph.nodes()) {
      NodeState state = state_of(graph, id);
      const auto at = by_id.find(std::to_underlying(id));
      if (at == by_id.end()) {
        added.push_back({id, std::move(state), pass, {}});
      } else if (!same_state(at->second->state, state)) {
        at->second->state = std::move(state);
        at->second->changed_by = pass;
      }
    }
    std::ranges::move(added, std::back_inserter(known_));
  }

  void finish(PassReport& report) const {
    for (const Known& known : known_) {
      if (!known.added_by.empty()) {
        report.added.push_back({known.state.name, known.state.op_type, known.added_by});
      } else if (!known.changed_by.empty()) {
        report.changed.push_back({known.state.name, known.state.op_type, known.changed_by});
      }
    }
  }

 private:
  struct Known {
    NodeId id;
    NodeState state;
    std::string_view added_by;    // empty: there from the start
    std::string_view changed_by;  // the last pass that did
  };
  std::vector<Known> known_;
};

Result<void> check_name(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Pass& pass : kPasses) names.push_back(pass.name);
  if (std::ranges::find(names, name) != names.end()) return {};
  const std::string_view near = nearest_name(name, names);
  return fail(ErrorCode::kUsage, format_text("no pass is named \"{}\"", printable(name)), {},
              near.empty() ? "`kinglet optimize --list` names them all" : format_text("did you mean {}?", near));
}

Result<void> check_names(const PassOptions& options) {
  for (const std::string& name : options.only) KINGLET_TRY(check_name(name));
  for (const std::string& name : options.skip) KINGLET_TRY(check_name(name));
  if (!options.until.empty()) KINGLET_TRY(check_name(options.until));
  return {};
}

// The chosen passes of the fixpoint, or of the last stage.
std::vector<const Pass*> choose(const PassOptions& options, bool last_stage) {
  std::vector<const Pass*> chosen;
  for (const Pass& pass : kPasses) {
    const std::string name(pass.name);
    const bool of_stage = (pass.stage == PassStage::kLast) == last_stage;
    const bool allowed = pass.stage == PassStage::kFile || options.for_session || options.only.contains(name);
    const bool wanted = options.only.empty() || options.only.contains(name);
    if (of_stage && allowed && wanted && !options.skip.contains(name)) chosen.push_back(&pass);
    if (name == options.until) return chosen;
  }
  return chosen;
}

PassBudget::FoldLimits fold_limits(const Graph& graph, const PassOptions& options) {
  double bytes = static_cast<double>(options.fold_memory);
  for (const ValueId id : graph.values()) {
    const Tensor* constant = graph.constant(id);
    if (constant != nullptr) bytes += static_cast<double>(constant->byte_count());
  }
  constexpr double kSteps = 5e7;  // a few tenths of a second
  return {.bytes = bytes, .steps = kSteps + bytes / 4};
}

// A graph that comes from no file (opset 0) may hold everything, and so may a session's.
std::int64_t newest_opset(const Graph& graph, const PassOptions& options) {
  const std::int64_t opset = options.newest_opset != 0 ? options.newest_opset : graph.metadata.opset;
  return options.for_session || opset == 0 ? PassBudget::kUnlimited : opset;
}

class Runner {
 public:
  Runner(Graph& graph, const PassOptions& options)
      : graph_(graph),
        options_(options),
        budget_(options.stop_after_rewrites, options.fold_allowance, newest_opset(graph, options),
                fold_limits(graph, options)),
        changes_(graph) {
    report_.nodes_before = graph.node_count();
  }

  Result<void> settle(const std::vector<const Pass*>& passes) {
    const std::size_t first_row = report_.passes.size();
    for (const Pass* pass : passes) report_.passes.push_back({.name = pass->name});
    for (int round = 1;; ++round) {
      int rewrites = 0;
      for (std::size_t i = 0; i < passes.size() && budget_.left(); ++i) {
        rewrites += KINGLET_TRY(run(*passes[i], report_.passes[first_row + i]));
      }
      report_.rounds = std::max(report_.rounds, round);
      if (rewrites == 0 || !budget_.left()) return {};
      if (round == kRoundLimit) {
        report_.settled = false;
        return {};
      }
    }
  }

  PassReport finish() {
    report_.nodes_after = graph_.node_count();
    report_.rewrites = budget_.rewrites();
    changes_.finish(report_);
    return std::move(report_);
  }

 private:
  Result<int> run(const Pass& pass, PassRow& row) {
    const auto start = Clock::now();
    budget_.start(pass.name);
    auto done = pass.run(graph_, budget_);
    if (done && *done > 0) {
      if (const auto checked = check(); !checked) done = std::unexpected(checked.error());
    }
    if (!done) return std::unexpected(with_context(done.error(), format_text("pass {}", pass.name)));
    row.rewrites += *done;
    row.ms += std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (*done > 0) changes_.look(graph_, pass.name, report_);
    return *done;
  }

  Result<void> check() {
    graph_.separate_names();  // passes name what they add after what it stands for
    KINGLET_TRY(infer_shapes(graph_));
    if (options_.verify) KINGLET_TRY(verify(graph_));
    return {};
  }

  Graph& graph_;
  const PassOptions& options_;
  PassBudget budget_;
  Changes changes_;
  PassReport report_;
};

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

Result<PassReport> run_passes(Graph& graph, const PassOptions& options) {
  KINGLET_TRY(check_names(options));
  Runner runner(graph, options);
  KINGLET_TRY(runner.settle(choose(options, false)));
  KINGLET_TRY(runner.settle(choose(options, true)));
  return runner.finish();
}

}  // namespace kinglet::engine
