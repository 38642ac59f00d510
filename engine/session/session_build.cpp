// SPDX-License-Identifier: Apache-2.0
// Why: turns a plan into runtimes, buffers and descriptions.
#include <algorithm>
#include <utility>

#include "engine/base/format.h"
#include "engine/graph/fused_clip.h"
#include "engine/ops/levels.h"
#include "engine/ops/op.h"
#include "engine/plan/needs.h"
#include "engine/session/program_pages.h"
#include "engine/session/session_state.h"

namespace kinglet::engine {
namespace {

std::string shown_op(const Node& node) {
  const FusedClip clip = fused_clip(node);
  if (clip.open()) return node.op_type;
  return node.op_type + (clip.min == 0 && clip.max == FusedClip{}.max ? "+Relu" : "+Clip");
}

std::size_t weight_bytes(const Graph& graph) {
  std::size_t bytes = 0;
  for (const ValueId id : graph.values()) {
    const Tensor* constant = graph.constant(id);
    if (constant != nullptr && !graph.consumers(id).empty()) bytes += constant->byte_count();
  }
  return bytes;
}

// Nothing that evaluate_node does around evaluate at each run is needed: no f16 to widen, and no computed integers,
// which might be axes or sizes that only inference checks; those of an operator that fills rows are neither.
bool is_plain(const Graph& graph, const Node& node) {
  const Op* op = find_op(node.domain, node.op_type);
  if (op == nullptr || op->evaluate == nullptr) return false;
  const auto fits = [&](ValueId id) {
    if (id == kNoValue) return true;
    const Value& value = graph.value(id);
    if (value.constant) return value.type != DataType::kF16;
    return value.type == DataType::kF32 || value.type == DataType::kBool || op->most_rows != nullptr;
  };
  return std::ranges::all_of(node.inputs, fits) && std::ranges::all_of(node.outputs, [&](ValueId id) {
           return id != kNoValue && graph.value(id).type != DataType::kF16;
         });
}

TensorInfo describe(const Graph& graph, const Layouts& layouts, ValueId id) {
  const Value& value = graph.value(id);
  return {.name = value.name,
          .type = value.type,
          .shape = *value.shape,
          .layout = border_layout(graph, layouts, id) == Layout::kNhwc ? TensorLayout::kNhwc : TensorLayout::kNchw,
          .quantization = {},
          .held = {}};
}

// Bytes of weights above which memory counts beside time: a ResNet-50 (102 MB) is to stay below 150 MB in all, a
// ResNet-18 (47 MB) takes 116 where it could take 78 (docs/decisions/0058-weights-asked-for-early.md).
constexpr double kManyWeights = 64 << 20;

// Bytes that kernels may take for weights in another form; check_needs found at least none.
std::size_t room_beside(const Needs& needs, std::int64_t limit) {
  return static_cast<std::size_t>(std::max(0.0, static_cast<double>(limit) - bytes_of(needs)));
}

std::optional<KernelInfo> kernel_info(const Step& step) {
  if (step.joined) return KernelInfo{.name = "in_place", .cost = 0};
  if (!step.kernel) return std::nullopt;
  return KernelInfo{
      .name = step.kernel->name(), .cost = step.kernel->offer.cost, .packed_bytes = step.kernel->offer.packed_bytes};
}

// What the bytes of an input or output mean, where the graph says it.
std::optional<Quantization> border_quantization(const Graph& graph, ValueId id) {
  const auto found = quantization_of(graph, id);
  if (!found || !(found->scale > 0)) return std::nullopt;
  return Quantization{.scale = found->scale, .zero_point = found->zero_point};
}

}  // namespace

Result<void> Session::State::build(Graph model, const SessionOptions& options, std::unique_ptr<PackedWeights> packed) {
  graph_ = std::move(model);
  metadata = graph_.metadata;
  timed_ = options.time_nodes;
  packed_ = std::move(packed);
  pool_ = options.pool ? options.pool : KINGLET_TRY(ThreadPool::make(options.threads));
  caller_ = pool_->caller();
  info.weight_bytes = weight_bytes(graph_);
  Built built = KINGLET_TRY(build_plan(options));
  KINGLET_TRY(check_copies(graph_, built.plan.segments.steps, *options.memory_limit));
  KINGLET_TRY(place_values(built));
  describe_borders(built.plan);
  describe_plan(built);
  (void)let_go_of_program_pages();  // a process is largest when all is packed
  KINGLET_TRY(pack(built));
  KINGLET_TRY(place_steps(std::move(built)));
  let_go_of_graph();
  (void)let_go_of_program_pages();  // and again when it has run: what built it is not what runs it
  return {};
}

Result<Session::State::Built> Session::State::build_plan(const SessionOptions& options) {
  const Needs needs = needs_of(graph_);
  PlanOptions plan_options{.disabled_lowerings = options.disabled_lowerings,
                           .refused = {},
                           .half = options.half,
                           .half_everywhere = options.half_everywhere,
                           .kernels = {.own = options.own_kernels,
                                       .forced = options.forced_kernels,
                                       .saves_memory = needs.constants > kManyWeights,
                                       .most_bytes = room_beside(needs, *options.memory_limit)}};
  while (true) {
    Built built{.plan = KINGLET_TRY(make_plan(graph_, plan_options)),
                .subgraphs = {},
                .runtimes = {},
                .kernels = {},
                .buffers = {}};
    bool complete = true;
    for (const Step& step : built.plan.segments.steps) {
      auto& subgraph = built.subgraphs.emplace_back();
      if (!step.lowered) continue;
      auto made = build_segment(graph_, built.plan.layouts, step, static_cast<std::size_t>(pool_->threads()));
      if (made) {
        subgraph = std::move(*made);
        continue;
      }
      if (made.error().node == kNoNode) return std::unexpected(std::move(made).error().error);
      const NodeId node = made.error().node;
      (step.halves.contains(node) ? plan_options.refused_halves : plan_options.refused).insert(node);
      complete = false;
      break;
    }
    if (complete) return built;
  }
}

Result<void> Session::State::place_values(Built& built) const {
  std::vector<std::span<const xnn::ExternalValue>> externals;
  for (const auto& subgraph : built.subgraphs) {
    externals.emplace_back();
    if (subgraph) externals.back() = subgraph->externals;
  }
  built.buffers = KINGLET_TRY(plan_buffers(graph_, built.plan.segments.steps, externals));
  return {};
}

// From the last to the first: most classifiers end with their largest layer, which is there twice while it is packed.
Result<void> Session::State::pack(Built& built) {
  const std::vector<Step>& steps = built.plan.segments.steps;
  const std::optional<std::size_t> last = built.plan.segments.last_of_workers();
  ends_with_kernel_ = last && steps[*last].kernel;
  built.kernels.resize(steps.size());
  built.runtimes.resize(steps.size());
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (steps[i].kernel) built.kernels[i] = make_kernel(graph_, steps[i].nodes, *steps[i].kernel, *packed_);
    // A subgraph holds what it reads, often in another order.
    if (steps[i].kernel || built.subgraphs[i]) release_weights_of(steps[i].nodes);
    if (!built.subgraphs[i]) continue;
    const xnn::Runtime::Options options{.time_nodes = timed_, .is_last = i == last};
    auto subgraph = std::exchange(built.subgraphs[i], std::nullopt);
    built.runtimes[i] =
        KINGLET_TRY(xnn::Runtime::create(*std::move(subgraph), *packed_, as_pthreadpool(caller_), options));
  }
  release_weights(built.plan);
  return {};
}

// Those that no other node reads.
void Session::State::release_weights_of(std::span<const NodeId> nodes) {
  for (const NodeId id : nodes) {
    const std::vector<ValueId> read = graph_.node(id).inputs;
    for (const ValueId value : read) {
      if (value == kNoValue || graph_.constant(value) == nullptr || !graph_.has_single_use(value)) continue;
      graph_.set_constant(value, Tensor(graph_.value(value).type, {0}));
    }
  }
}

void Session::State::release_weights(const Plan& plan) {
  std::set<ValueId> needed(graph_.outputs().begin(), graph_.outputs().end());
  for (const Step& step : plan.segments.steps) {
    if (!step.is_evaluated()) continue;
    const auto& read = graph_.node(step.nodes.front()).inputs;
    needed.insert(read.begin(), read.end());
  }
  for (const ValueId id : graph_.values()) {
    if (graph_.constant(id) != nullptr && !needed.contains(id)) {
      graph_.set_constant(id, Tensor(graph_.value(id).type, {0}));
    }
  }
}

void Session::State::describe_borders(const Plan& plan) {
  for (const GraphInput& input : graph_.inputs()) {
    inputs.push_back(describe(graph_, plan.layouts, input.value));
    inputs.back().quantization = border_quantization(graph_, input.value);
  }
  for (std::size_t i = 0; i < held_inputs.size(); ++i) {
    if (!held_inputs[i]) continue;
    inputs[i].type = DataType::kF32;
    inputs[i].quantization.reset();
    inputs[i].held = held_inputs[i];
  }
  for (const ValueId output : graph_.outputs()) {
    outputs.push_back(describe(graph_, plan.layouts, output));
    outputs.back().quantization = border_quantization(graph_, output);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) output_forms[i].shape = outputs[i].shape;
}

void Session::State::describe_plan(const Built& built) {
  const Segments& segments = built.plan.segments;
  std::int64_t lowered_macs = 0, half_macs = 0, float_macs = 0;
  for (std::size_t i = 0; i < segments.steps.size(); ++i) {
    const Step& step = segments.steps[i];
    if (step.lowered) ++info.segments;
    if (built.subgraphs[i]) info.transposes += built.subgraphs[i]->transposes;
    for (const NodeId id : step.nodes) {
      const Node& node = graph_.node(id);
      const std::int64_t macs = multiply_adds(graph_, id);
      info.macs += macs;
      if (step.lowered) lowered_macs += macs;
      if (step.halves.contains(id)) half_macs += macs;
      const auto output = std::ranges::find_if(node.outputs, [](ValueId value) { return value != kNoValue; });
      if (output != node.outputs.end() && graph_.value(*output).type == DataType::kF32) float_macs += macs;
      info.steps.push_back({.name = node.name,
                            .op_type = shown_op(node),
                            .backend = step.lowered          ? "xnnpack"
                                       : step.is_evaluated() ? "evaluate"
                                                             : "kinglet",
                            .kernel = kernel_info(step),
                            .half = step.halves.contains(id),
                            .segment = i,
                            .output_shape = output == node.outputs.end() ? "" : to_string(*graph_.value(*output).shape),
                            .macs = macs});
      info_nodes_.push_back(id);
    }
  }
  for (const Fallback& fallback : segments.fallbacks) {
    const Node& node = graph_.node(fallback.node);
    info.fallback_nodes.push_back(format_text("{} ({}): {}", node.name, node.op_type, fallback.reason));
  }
  if (info.macs > 0) {
    info.xnnpack_mac_ratio = static_cast<double>(lowered_macs) / static_cast<double>(info.macs);
    info.half_mac_ratio = static_cast<double>(half_macs) / static_cast<double>(info.macs);
    info.float_mac_ratio = static_cast<double>(float_macs) / static_cast<double>(info.macs);
  }
  info.arena_bytes = built.buffers.arena_bytes;
}

Result<void> Session::State::place_steps(Built built) {
  arena_ = TensorBuffer(built.buffers.arena_bytes);
  for (const GraphInput& input : graph_.inputs()) input_memory.push_back(place_of(built, input.value).memory);
  for (const ValueId output : graph_.outputs()) {
    output_memory.push_back(place_of(built, output).memory);
    if (const Tensor* constant = graph_.constant(output))
      std::ranges::copy(constant->bytes(), output_memory.back().begin());
  }
  std::size_t row = 0;
  for (std::size_t i = 0; i < built.plan.segments.steps.size(); ++i) {
    const Step& step = built.plan.segments.steps[i];
    RunStep run{.runtime = std::move(built.runtimes[i]),
                .own = {},
                .evaluated = {},
                .first_info = row,
                .info_count = step.nodes.size()};
    row += step.nodes.size();
    if (step.joined) continue;
    if (run.runtime) {
      std::vector<void*> pointers;
      for (const BufferPlan::Slot& slot : built.buffers.segments.at(i)) pointers.push_back(arena_.data() + slot.offset);
      KINGLET_TRY(run.runtime->bind(pointers));
    } else if (built.kernels[i]) {
      run.own = place_kernel(built, i, std::move(built.kernels[i]));
    } else {
      run.evaluated = make_evaluated(built, step.nodes.front());
    }
    steps_.push_back(std::move(run));
  }
  return {};
}

void Session::State::let_go_of_graph() {
  const auto looks_at_it = [](const RunStep& step) { return step.evaluated.has_value(); };
  if (std::ranges::none_of(steps_, looks_at_it)) graph_ = {};
}

Session::State::OwnKernel Session::State::place_kernel(const Built& built, std::size_t step,
                                                       std::unique_ptr<kernels::Kernel> kernel) {
  OwnKernel out{.kernel = std::move(kernel), .inputs = {}, .outputs = {}, .scratch = {}};
  const Step& of = built.plan.segments.steps[step];
  for (const ValueId input : kernel_inputs(graph_, of.nodes)) out.inputs.emplace_back(place_of(built, input).memory);
  for (const ValueId output : of.outputs) out.outputs.push_back(place_of(built, output).memory);
  if (const auto slot = built.buffers.scratch.find(step); slot != built.buffers.scratch.end())
    out.scratch = {arena_.data() + slot->second.offset, slot->second.bytes};
  return out;
}

Session::State::Place Session::State::place_of(const Built& built, ValueId id) {
  const BufferPlan::Slot slot = built.buffers.slots.at(id);
  const Value& value = graph_.value(id);
  return {.memory = {arena_.data() + slot.offset, slot.bytes},
          .layout = border_layout(graph_, built.plan.layouts, id),
          .shape = *value.shape,
          .type = value.type};
}

Session::State::Evaluated Session::State::make_evaluated(const Built& built, NodeId id) {
  const Node& node = graph_.node(id);
  Evaluated out{.node = id, .tensors = {}, .places = {}, .results = {}, .read = {}, .made = {}};
  const auto is_copied = [&](const Place& place) {
    return place.layout == Layout::kNhwc && !layout_neutral(place.shape);
  };
  for (const ValueId input : node.inputs) {
    const Tensor* constant = graph_.constant(input);
    auto& tensor = out.tensors.emplace_back();
    auto& place = out.places.emplace_back();
    if (constant != nullptr) {
      tensor = *constant;
      (void)tensor.bytes();  // a run reads no file
    } else if (input != kNoValue) {
      place = place_of(built, input);
      tensor = Tensor(place->type, place->shape);
      if (is_copied(*place)) ++info.transposes;
    }
  }
  for (const ValueId output : node.outputs) {
    auto& place = out.results.emplace_back();
    if (output == kNoValue) continue;
    place = place_of(built, output);
    if (is_copied(*place)) ++info.transposes;
  }
  if (!is_plain(graph_, node)) return out;
  for (const ValueId output : node.outputs) {
    out.made.emplace_back(graph_.value(output).type, *graph_.value(output).shape);
  }
  return out;
}

}  // namespace kinglet::engine
