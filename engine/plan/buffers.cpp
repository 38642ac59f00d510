// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "engine/base/format.h"
#include "engine/plan/plan.h"

namespace kinglet::engine {
namespace {

// What takes memory, and when: in ticks, one a node of XNNPACK's and one a step that is no segment, in the order they
// run.
struct Life {
  std::size_t bytes = 0;
  std::size_t first = std::numeric_limits<std::size_t>::max(), last = 0;  // both inclusive
  bool stays = false;                                                     // belongs to the caller: alive all the time
};

// Two lives that one place holds one after the other: `to` is written, number by number, over what is last read then.
struct Over {
  std::size_t from = 0, to = 0;
  std::size_t tick = 0;
};

Result<std::size_t> bytes_of(const Graph& graph, ValueId id, bool half) {
  const Value& value = graph.value(id);
  const auto count = value.shape ? element_count(*value.shape) : std::nullopt;
  constexpr std::int64_t kLimit = std::int64_t{1} << 32;
  if (!count || *count >= kLimit) {
    return fail(ErrorCode::kBadData, format_text("value \"{}\" has no fixed shape that fits memory", value.name), {},
                "export the model with fixed input sizes");
  }
  return static_cast<std::size_t>(*count) * byte_size(half ? DataType::kF16 : value.type);
}

// Walks through the steps once.
class Lives {
 public:
  explicit Lives(const Graph& graph) : graph_(graph) {}

  std::vector<Life> all;
  std::vector<Over> overs;
  std::map<ValueId, std::size_t> of_values;
  std::map<ValueId, std::size_t> offsets;         // of values that lie within another's life
  std::map<std::size_t, std::size_t> of_scratch;  // by step
  struct Place {
    std::size_t life = 0;
    std::size_t offset = 0, bytes = 0;  // what of it
  };
  std::map<std::size_t, std::vector<Place>> of_segments;  // by step: of its external values

  // What a joined step reads lies in what it gives, channels behind channels. Before any step is added.
  Result<void> join(const Step& step) {
    const Node& node = graph_.node(step.nodes.front());
    const ValueId output = node.outputs.front();
    const std::size_t whole = KINGLET_TRY(find(output, step));
    const Shape& shape = *graph_.value(output).shape;
    const auto pixels = static_cast<std::size_t>(shape[0] * shape[2] * shape[3]);
    std::size_t offset = 0;
    for (const ValueId input : node.inputs) {
      of_values.emplace(input, whole);
      offsets.emplace(input, offset);
      offset += KINGLET_TRY(bytes_of(graph_, input, step.half_values.contains(input))) / pixels;
    }
    return {};
  }

  Result<void> add_step(std::size_t index, const Step& step, std::span<const xnn::ExternalValue> externals) {
    return step.lowered ? add_segment(index, step, externals) : add_other(index, step);
  }
  Result<void> stay(ValueId id) {
    all[KINGLET_TRY(find(id, false))].stays = true;
    return {};
  }

 private:
  std::size_t add(std::size_t bytes) {
    all.push_back({.bytes = bytes});
    return all.size() - 1;
  }
  Result<std::size_t> find(ValueId id, bool half) {
    if (const auto known = of_values.find(id); known != of_values.end()) return known->second;
    const std::size_t made = add(KINGLET_TRY(bytes_of(graph_, id, half)));
    of_values.emplace(id, made);
    return made;
  }
  void touch(std::size_t life, std::size_t tick) {
    all[life].first = std::min(all[life].first, tick);
    all[life].last = std::max(all[life].last, tick);
  }

  Result<std::size_t> find(ValueId id, const Step& step) { return find(id, step.half_values.contains(id)); }
  Result<void> add_segment(std::size_t index, const Step& step, std::span<const xnn::ExternalValue> externals) {
    std::vector<Place>& of_these = of_segments[index];
    std::size_t length = 1;
    for (const xnn::ExternalValue& external : externals) {
      const std::size_t life = external.part_of             ? of_these[*external.part_of].life
                               : external.value == kNoValue ? add(external.bytes)
                                                            : KINGLET_TRY(find(external.value, step));
      of_these.push_back({.life = life, .offset = external.offset, .bytes = external.bytes});
      length = std::max(length, external.last + 1);
    }
    for (std::size_t i = 0; i < externals.size(); ++i) {
      const xnn::ExternalValue& external = externals[i];
      if (external.is_output) touch(of_these[i].life, tick_ + external.first);
      touch(of_these[i].life, tick_ + external.last);
      for (const std::size_t other : external.over)
        overs.push_back({.from = of_these[other].life, .to = of_these[i].life, .tick = tick_ + external.first});
    }
    tick_ += length;
    return {};
  }

  Result<void> add_other(std::size_t index, const Step& step) {
    for (const ValueId output : step.outputs) touch(KINGLET_TRY(find(output, step)), tick_);
    for (const ValueId input : step.inputs) touch(KINGLET_TRY(find(input, step)), tick_);
    if (step.kernel && step.kernel->offer.scratch_bytes > 0) {
      of_scratch[index] = add(step.kernel->offer.scratch_bytes);
      touch(of_scratch[index], tick_);
    }
    if (step.kernel && step.kernel->offer.writes_over) {
      const std::vector<ValueId> inputs = kernel_inputs(graph_, step.nodes);
      const ValueId input = inputs.at(*step.kernel->offer.writes_over);
      const std::size_t to = KINGLET_TRY(find(step.outputs.front(), step));
      if (std::ranges::count(inputs, input) == 1)
        overs.push_back({.from = KINGLET_TRY(find(input, step)), .to = to, .tick = tick_});
    }
    ++tick_;
    return {};
  }

  const Graph& graph_;
  std::size_t tick_ = 0;
};

// For each life the one at whose place it lies: its own, or that of what it is written over.
std::vector<std::size_t> find_homes(std::span<const Life> lives, std::vector<Over> overs) {
  std::vector<std::size_t> homes(lives.size());
  std::iota(homes.begin(), homes.end(), 0);
  std::ranges::stable_sort(overs, {}, &Over::tick);
  for (const Over& over : overs) {
    const Life& from = lives[over.from];
    const Life& to = lives[over.to];
    const bool is_free = from.last == over.tick && to.first == over.tick && !from.stays && from.bytes == to.bytes;
    if (is_free && homes[over.to] == over.to) homes[over.to] = homes[over.from];
  }
  return homes;
}

// All that lies at one place, as one life.
std::vector<Life> join_lives(const std::vector<Life>& lives, std::span<const std::size_t> homes) {
  std::vector<Life> joined = lives;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    Life& home = joined[homes[i]];
    home.first = std::min(home.first, lives[i].first);
    home.last = std::max(home.last, lives[i].last);
    home.stays = home.stays || lives[i].stays;
  }
  return joined;
}

bool meet(const Life& a, const Life& b) { return a.stays || b.stays || (a.first <= b.last && b.first <= a.last); }

std::size_t room_of(const Life& life) {
  return (life.bytes + kBufferSlack + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

struct Placing {
  std::vector<std::size_t> offsets;  // of homes
  std::size_t end = 0;
  std::size_t highest = 0;  // in the order: the first one that ends there
};

// In this order, each at the lowest place that nothing alive at the same time takes.
Placing place(std::span<const Life> lives, std::span<const std::size_t> order) {
  Placing out{.offsets = std::vector<std::size_t>(lives.size(), 0)};
  std::vector<std::size_t>& offsets = out.offsets;
  std::vector<std::size_t> placed;  // by offset
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::size_t i = order[at];
    for (const std::size_t other : placed) {
      if (!meet(lives[i], lives[other])) continue;
      if (offsets[i] + room_of(lives[i]) <= offsets[other]) break;
      offsets[i] = std::max(offsets[i], offsets[other] + room_of(lives[other]));
    }
    const auto offset_of = [&](std::size_t life) { return offsets[life]; };
    placed.insert(std::ranges::upper_bound(placed, offsets[i], {}, offset_of), i);
    if (const std::size_t end = offsets[i] + room_of(lives[i]); end > out.end) {
      out.end = end;
      out.highest = at;
    }
  }
  return out;
}

// What is alive at once at most: no placing takes less.
std::size_t most_alive(std::span<const Life> lives, std::span<const std::size_t> order) {
  std::map<std::size_t, std::size_t> begins, ends;
  std::size_t alive = 0;
  for (const std::size_t i : order) {
    if (lives[i].stays) {
      alive += room_of(lives[i]);
    } else if (lives[i].first <= lives[i].last) {
      begins[lives[i].first] += room_of(lives[i]);
      ends[lives[i].last + 1] += room_of(lives[i]);
    }
  }
  std::size_t most = alive;
  auto end = ends.begin();
  for (const auto& [tick, bytes] : begins) {
    for (; end != ends.end() && end->first <= tick; ++end) alive -= end->second;
    alive += bytes;
    most = std::max(most, alive);
  }
  return most;
}

// Largest first; where that leaves holes, what ended highest chooses its place first, a few times over.
Placing place_well(std::span<const Life> lives, std::span<const std::size_t> homes) {
  constexpr int kMostRounds = 16;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    if (homes[i] == i) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return lives[i].bytes; });
  const std::size_t least = most_alive(lives, order);
  Placing best = place(lives, order);
  std::size_t highest = best.highest;
  for (int round = 0; round < kMostRounds && best.end > least; ++round) {
    const auto begin = order.begin();
    std::rotate(begin, begin + static_cast<std::ptrdiff_t>(highest), begin + static_cast<std::ptrdiff_t>(highest) + 1);
    Placing next = place(lives, order);
    highest = next.highest;
    if (next.end < best.end) best = std::move(next);
  }
  return best;
}

}  // namespace

Result<BufferPlan> plan_buffers(const Graph& graph, const std::vector<Step>& steps,
                                std::span<const std::span<const xnn::ExternalValue>> externals) {
  Lives lives(graph);
  for (const Step& step : steps) {
    if (step.joined) KINGLET_TRY(lives.join(step));
  }
  for (std::size_t i = 0; i < steps.size(); ++i) KINGLET_TRY(lives.add_step(i, steps[i], externals[i]));
  for (const GraphInput& input : graph.inputs()) KINGLET_TRY(lives.stay(input.value));
  for (const ValueId output : graph.outputs()) KINGLET_TRY(lives.stay(output));

  const std::vector<std::size_t> homes = find_homes(lives.all, lives.overs);
  const std::vector<Life> joined = join_lives(lives.all, homes);
  const Placing placing = place_well(joined, homes);
  const std::vector<std::size_t>& offsets = placing.offsets;
  BufferPlan plan;
  plan.arena_bytes = placing.end;
  const auto slot = [&](std::size_t life) {
    return BufferPlan::Slot{.offset = offsets[homes[life]], .bytes = lives.all[life].bytes};
  };
  for (const auto& [id, life] : lives.of_values) plan.slots[id] = slot(life);
  for (const auto& [id, offset] : lives.offsets) {
    plan.slots[id].offset += offset;
    plan.slots[id].bytes -= offset;
  }
  for (const auto& [step, life] : lives.of_scratch) plan.scratch[step] = slot(life);
  for (const auto& [step, of_these] : lives.of_segments) {
    for (const Lives::Place& place : of_these)
      plan.segments[step].push_back({.offset = offsets[homes[place.life]] + place.offset, .bytes = place.bytes});
  }
  return plan;
}

}  // namespace kinglet::engine
