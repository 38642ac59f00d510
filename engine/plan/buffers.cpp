// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include <algorithm>

#include "engine/base/format.h"

namespace kinglet::engine {
namespace {

struct Life {
  ValueId value = kNoValue;  // without one: the scratch of step `first`
  std::size_t bytes = 0;
  std::size_t room = 0;   // with slack, rounded up
  std::size_t first = 0;  // steps, both inclusive
  std::size_t last = 0;
  std::size_t offset = 0;
};

Life life_of(ValueId id, std::size_t bytes) {
  const std::size_t room = (bytes + kBufferSlack + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  return {.value = id, .bytes = bytes, .room = room};
}

Result<Life> describe(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  const auto count = value.shape ? element_count(*value.shape) : std::nullopt;
  constexpr std::int64_t kLimit = std::int64_t{1} << 32;
  if (!count || *count >= kLimit) {
    return fail(ErrorCode::kBadData, format_text("value \"{}\" has no fixed shape that fits memory", value.name), {},
                "export the model with fixed input sizes");
  }
  return life_of(id, static_cast<std::size_t>(*count) * byte_size(value.type));
}

Result<std::vector<Life>> find_lives(const Graph& graph, const std::vector<Step>& steps) {
  std::map<ValueId, Life> lives;
  const auto touch = [&](ValueId id, std::size_t step) -> Result<void> {
    if (const auto known = lives.find(id); known != lives.end()) {
      known->second.last = std::max(known->second.last, step);
      return {};
    }
    Life life = KINGLET_TRY(describe(graph, id));
    life.first = life.last = step;
    lives.emplace(id, life);
    return {};
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const ValueId output : steps[i].outputs) KINGLET_TRY(touch(output, i));
    for (const ValueId input : steps[i].inputs) KINGLET_TRY(touch(input, i));
  }
  const auto pin = [&](ValueId id) -> Result<void> {
    KINGLET_TRY(touch(id, 0));
    lives[id].first = 0;
    lives[id].last = steps.size();
    return {};
  };
  for (const GraphInput& input : graph.inputs()) KINGLET_TRY(pin(input.value));
  for (const ValueId output : graph.outputs()) KINGLET_TRY(pin(output));

  std::vector<Life> out;
  out.reserve(lives.size());
  for (const auto& [id, life] : lives) out.push_back(life);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!steps[i].kernel || steps[i].kernel->offer.scratch_bytes == 0) continue;
    out.push_back(life_of(kNoValue, steps[i].kernel->offer.scratch_bytes));
    out.back().first = out.back().last = i;
  }
  return out;
}

}  // namespace

Result<BufferPlan> plan_buffers(const Graph& graph, const std::vector<Step>& steps) {
  std::vector<Life> lives = KINGLET_TRY(find_lives(graph, steps));
  // Largest first, each at the lowest place that no value alive at the same time takes.
  std::ranges::stable_sort(lives, std::ranges::greater{}, &Life::room);
  BufferPlan plan;
  std::vector<const Life*> placed;
  for (Life& life : lives) {
    const auto meets = [&](const Life* other) { return life.first <= other->last && other->first <= life.last; };
    for (const Life* other : placed) {  // sorted by offset
      if (!meets(other)) continue;
      if (life.offset + life.room <= other->offset) break;
      life.offset = std::max(life.offset, other->offset + other->room);
    }
    placed.insert(std::ranges::upper_bound(placed, life.offset, {}, &Life::offset), &life);
    const BufferPlan::Slot slot{.offset = life.offset, .bytes = life.bytes};
    if (life.value == kNoValue) {
      plan.scratch[life.first] = slot;
    } else {
      plan.slots[life.value] = slot;
    }
    plan.arena_bytes = std::max(plan.arena_bytes, life.offset + life.room);
  }
  return plan;
}

}  // namespace kinglet::engine
