// SPDX-License-Identifier: Apache-2.0
// Why: the running part of a session.

#include "engine/base/clock.h"
#include "engine/base/format.h"
#include "engine/ops/op.h"
#include "engine/session/session_state.h"

namespace kinglet::engine {

Result<void> Session::State::run() {
  if (caller_.pool == nullptr) return run_steps();
  const SteadyTime start = SteadyClock::now();
  const Pool::Wish alone = runs_.tries() ? Pool::Wish::kTryAlone : Pool::Wish::kAlone;
  caller_.wish = runs_.alone() ? alone : Pool::Wish::kWhatPays;
  KINGLET_TRY(run_steps());
  const SteadyClock::duration took = SteadyClock::now() - start;
  if (caller_.wish != Pool::Wish::kWhatPays) caller_.pool->spend(took);
  runs_.add(took);
  return {};
}

Result<void> Session::State::run_steps() {
  for (RunStep& step : steps_) {
    if (timed_) [[unlikely]] {
      KINGLET_TRY(run_timed(step));
    } else {
      KINGLET_TRY(run_step(step));
    }
  }
  if (ends_with_kernel_) pool_->rest();
  return {};
}

Result<void> Session::State::run_step(RunStep& step) {
  if (step.runtime) return step.runtime->invoke();
  if (!step.own) return evaluate(*step.evaluated);
  step.own->kernel->run(step.own->inputs, step.own->outputs, step.own->scratch, as_pthreadpool(caller_));
  return {};
}

Result<void> Session::State::run_timed(RunStep& step) {
  const SteadyTime start = SteadyClock::now();
  KINGLET_TRY(run_step(step));
  const double whole_us = std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count();
  const std::span rows = std::span(info.steps).subspan(step.first_info, step.info_count);
  for (StepInfo& row : rows) row.last_us = 0;
  if (!step.runtime) {
    rows.front().last_us = whole_us;
    return {};
  }
  // A layout change at the border belongs to no node: it is counted at the last row.
  const std::vector<xnn::OperatorTime> times = KINGLET_TRY(step.runtime->profile());
  for (const auto& [node, microseconds] : xnn::times_by_node(step.runtime->nodes(), times)) {
    std::size_t row = step.info_count - 1;
    for (std::size_t i = 0; i < step.info_count; ++i) {
      if (info_nodes_[step.first_info + i] == node) row = i;
    }
    rows[row].last_us += microseconds;
  }
  return {};
}

Result<void> Session::State::evaluate(Evaluated& step) {
  step.read.clear();
  for (std::size_t i = 0; i < step.tensors.size(); ++i) {
    Tensor& tensor = step.tensors[i];
    if (const auto& place = step.places[i]) {
      copy_layout(place->shape, byte_size(place->type), place->memory, place->layout, tensor.mutable_bytes(),
                  Layout::kLogical);
    }
    step.read.push_back(graph_.node(step.node).inputs[i] == kNoValue ? nullptr : &tensor);
  }
  if (!step.made.empty()) {
    KINGLET_TRY(evaluate_node_into(graph_, step.node, step.read, step.made));
    return store(step, step.made);
  }
  const std::vector<Tensor> results = KINGLET_TRY(evaluate_node(graph_, step.node, step.read));
  return store(step, results);
}

Result<void> Session::State::store(const Evaluated& step, std::span<const Tensor> results) {
  for (std::size_t i = 0; i < step.results.size(); ++i) {
    const auto& place = step.results[i];
    if (!place) continue;
    const Tensor& result = results[i];
    if (result.shape() != place->shape || result.type() != place->type) {
      return fail(ErrorCode::kInternal,
                  format_text("gives {} where the plan has {}", to_string(result.shape()), to_string(place->shape)),
                  graph_.node(step.node).name);
    }
    copy_layout(place->shape, byte_size(place->type), result.bytes(), Layout::kLogical, place->memory, place->layout);
  }
  return {};
}

}  // namespace kinglet::engine
