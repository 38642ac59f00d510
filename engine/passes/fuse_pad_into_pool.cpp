// SPDX-License-Identifier: Apache-2.0
// Before:     y = Pad(x, pads, value, axes); z = AveragePool(y) {pads=p} or MaxPool(y) {pads=p}
// After:      z = AveragePool(x) {pads=p + pads, count_include_pad=1} or MaxPool(x) {pads=p + pads}
// Conditions: y is read by this node alone and is no graph output; mode constant; pads constant, >= 0 and spatial only;
//             auto_pad NOTSET (or VALID); ceil_mode 0 (with it windows at the edge count differently); dilations 1 and
//             each sum of pads smaller than the kernel, so that every window holds a real element. AveragePool: value
//             0, and p all 0 or count_include_pad 1 already. MaxPool: one output; value -inf, or value 0 with x proven
//             >= 0. p itself acts as -inf.
#include <algorithm>
#include <limits>

#include "engine/passes/bounds.h"
#include "engine/passes/padding.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

bool all_equal(const std::vector<std::int64_t>& numbers, std::int64_t number) {
  return std::ranges::all_of(numbers, [&](std::int64_t n) { return n == number; });
}

bool windows_hold_data(const Node& pool, const std::vector<std::int64_t>& pads) {
  const std::vector<std::int64_t> kernel = pool.attributes.get_ints("kernel_shape");
  if (kernel.size() * 2 != pads.size() || !all_equal(pool.attributes.get_ints("dilations"), 1)) return false;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] >= kernel[i % kernel.size()]) return false;
  }
  return true;
}

bool value_fits(const Graph& graph, const Node& pool, const SpatialPad& pad, ValueId source,
                const std::vector<std::int64_t>& own_pads) {
  if (is_op(pool, "AveragePool")) {
    return pad.value == 0.0F && (all_equal(own_pads, 0) || pool.attributes.get_int("count_include_pad", 0) == 1);
  }
  if (pool.outputs.size() > 1 || !is_float(graph.value(source).type)) return false;
  if (pad.value == 0.0F) return is_never_negative(graph, source);
  return pad.value == -std::numeric_limits<float>::infinity();
}

bool fuse(Graph& graph, NodeId id) {
  const Node& pool = graph.node(id);
  const NodeId pad = inner_producer(graph, pool.inputs[0], {"Pad"});
  if (pad == kNoNode || pool.attributes.get_int("ceil_mode", 0) != 0) return false;
  const std::optional<SpatialPad> match = match_spatial_pad(graph, graph.node(pad));
  if (!match) return false;
  const std::optional<std::vector<std::int64_t>> own = explicit_pads(pool, match->begin_end.size());
  if (!own) return false;
  std::vector<std::int64_t> sum = *own;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += match->begin_end[i];
  const ValueId source = graph.node(pad).inputs[0];
  if (!windows_hold_data(pool, sum) || !value_fits(graph, pool, *match, source, *own)) return false;
  if (is_op(pool, "AveragePool")) graph.attributes(id).set("count_include_pad", std::int64_t{1});
  set_pads(graph, id, *own, match->begin_end);
  graph.set_input(id, 0, source);
  graph.remove_node(pad);
  return true;
}

}  // namespace

const NodePass fuse_pad_into_pool{{"AveragePool", "MaxPool"}, fuse};

}  // namespace kinglet::engine::passes
