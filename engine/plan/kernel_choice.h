// SPDX-License-Identifier: Apache-2.0
// Why: the one rule by which a node that XNNPACK takes runs by a kernel of kinglet's own instead.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "engine/backend/kernels/kernel.h"
#include "engine/backend/layout.h"
#include "engine/graph/graph.h"

namespace kinglet::engine {

struct KernelWishes {
  bool own = true;               // where this processor has quicker ones than XNNPACK
  std::set<std::string> forced;  // by name: wherever they can, whatever they cost
};

struct ChosenKernel {
  const kernels::KernelRow* row = nullptr;
  kernels::Offer offer;
};

// The cheapest of those forced that have an offer; else the cheapest of all that costs less than XNNPACK. Nothing:
// XNNPACK. Pure.
[[nodiscard]] std::optional<ChosenKernel> choose_kernel(const kernels::Work& work, const KernelWishes& wishes);

// The same for a node; nothing also where its values do not lie as kernels want them.
[[nodiscard]] std::optional<ChosenKernel> choose_kernel(const Graph& graph, const Layouts& layouts, NodeId id,
                                                        const KernelWishes& wishes);

// Packs. Own bug: for a node that choose_kernel gave nothing for.
[[nodiscard]] std::unique_ptr<kernels::Kernel> make_kernel(const Graph& graph, NodeId id, const ChosenKernel& chosen);

}  // namespace kinglet::engine
