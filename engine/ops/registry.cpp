// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/ops/rows.h"

namespace kinglet::engine {
namespace {

std::pair<std::string_view, std::string_view> key(const Op* op) { return {op->domain, op->op_type}; }

}  // namespace

const Op* find_op(std::string_view domain, std::string_view op_type) {
  static const auto sorted = [] {
    std::vector<const Op*> rows;
    for (const Op& op : all_ops()) rows.push_back(&op);
    std::ranges::sort(rows, {}, key);
    return rows;
  }();
  const std::pair wanted{domain == "ai.onnx" ? std::string_view() : domain, op_type};
  const auto at = std::ranges::lower_bound(sorted, wanted, {}, key);
  return at != sorted.end() && key(*at) == wanted ? *at : nullptr;
}

std::span<const Op> all_ops() {
  static const Op kOps[] = {
#define KINGLET_OP(variable, domain, op_type, min_inputs, max_inputs, max_outputs, layout) \
  {ops::variable, domain, op_type, min_inputs, max_inputs, max_outputs, LayoutRule::layout},
#include "engine/ops/ops.def"
#undef KINGLET_OP
  };
  return kOps;
}

}  // namespace kinglet::engine
