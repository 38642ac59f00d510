// SPDX-License-Identifier: Apache-2.0
// Why: the one rule by which a node runs by a kernel of kinglet's own instead of XNNPACK's or of evaluate, and with it
// what ends its block.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "engine/backend/kernels/kernel.h"
#include "engine/backend/layout.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

struct KernelWishes {
  bool own = true;               // where this processor has quicker ones than XNNPACK
  std::set<std::string> forced;  // by name: wherever they can, whatever they cost
  double cost_of_xnnpack = 1;    // of what it computes with; kernels cost in times of its f32
  bool half = false;             // XNNPACK takes the node in float16: so may kernels
  bool saves_memory = false;     // kernels::Work's
  // What all kernels of a plan may keep of weights, and one of them write beside; what does not fit is XNNPACK's.
  std::size_t most_bytes = std::numeric_limits<std::size_t>::max();
};

struct ChosenKernel {
  const kernels::KernelRow* row = nullptr;
  kernels::Offer offer;
  bool half = false;                           // it writes float16, and reads it unless
  bool from_floats = false;                    // what it reads is float32
  std::size_t output_step = 0;                 // kernels::ConvolutionShape's
  const kernels::KernelRow* behind = nullptr;  // of a second node, which runs with the first in bands of rows

  [[nodiscard]] std::string name() const;
};

// The cheapest of those forced that have an offer; else the cheapest of all that costs less than XNNPACK. Nothing:
// XNNPACK. Pure.
[[nodiscard]] std::optional<ChosenKernel> choose_kernel(const kernels::Work& work, const KernelWishes& wishes);

// The same for a node; nothing also where its values do not lie as kernels want them.
[[nodiscard]] std::optional<ChosenKernel> choose_kernel(const Graph& graph, const Layouts& layouts, NodeId id,
                                                        const KernelWishes& wishes);

// The cheapest in float16 for a node whose one input lies in float32; nothing: XNNPACK. Pure.
[[nodiscard]] std::optional<ChosenKernel> choose_kernel_from_floats(const Graph& graph, NodeId id,
                                                                    const KernelWishes& wishes);

// The node that adds something to what `id` gives, where nobody else reads that and all lies alike; kNoNode without
// one.
[[nodiscard]] NodeId addition_behind(const Graph& graph, const Layouts& layouts, NodeId id);

// The same kernel for `id` with the addition at its end, whatever it costs; nothing where it has no such end. Pure.
[[nodiscard]] std::optional<ChosenKernel> with_addition(const Graph& graph, NodeId id, NodeId addition,
                                                        const ChosenKernel& chosen, const KernelWishes& wishes);

// What a concatenation of channels reads, where it alone reads each and all lies as kernels want it; empty: it is none,
// or something else holds.
[[nodiscard]] std::vector<ValueId> joined_channels(const Graph& graph, const Layouts& layouts, NodeId id);

// The same kernel for `id`, whose outputs lie among others'; nothing where it does not write so. Pure.
[[nodiscard]] std::optional<ChosenKernel> among_others(const Graph& graph, NodeId id, const ChosenKernel& chosen,
                                                       std::size_t output_step);

// The kernels of a layer of single pixels and the depthwise one that alone reads it, in bands; nothing where that is
// not worth it. Pure.
[[nodiscard]] std::optional<ChosenKernel> in_bands(const Graph& graph, NodeId pixels, const ChosenKernel& of_pixels,
                                                   NodeId windows, const ChosenKernel& of_windows);

// What the kernel of `nodes` (one, or one and its addition, or two in bands) reads, in its order; a value may stand
// there twice.
[[nodiscard]] std::vector<ValueId> kernel_inputs(const Graph& graph, std::span<const NodeId> nodes);

// Packs into `weights`, which outlives the kernel. Own bug: for nodes that no kernel was chosen for.
[[nodiscard]] std::unique_ptr<kernels::Kernel> make_kernel(const Graph& graph, std::span<const NodeId> nodes,
                                                           const ChosenKernel& chosen, PackedWeights& weights);

}  // namespace kinglet::engine
