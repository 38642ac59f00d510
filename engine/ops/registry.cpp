// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "engine/ops/rows.h"

namespace kinglet::engine {
namespace {

constexpr std::array kRows{
#define KINGLET_OP(variable) &ops::variable,
#include "engine/ops/ops.def"
#undef KINGLET_OP
};

std::pair<std::string_view, std::string_view> key(const Op* op) { return {op->domain, op->op_type}; }

}  // namespace

const Op* find_op(std::string_view domain, std::string_view op_type) {
  static const auto sorted = [] {
    auto rows = kRows;
    std::ranges::sort(rows, {}, key);
    return rows;
  }();
  const std::pair wanted{domain == "ai.onnx" ? std::string_view() : domain, op_type};
  const auto at = std::ranges::lower_bound(sorted, wanted, {}, key);
  return at != sorted.end() && key(*at) == wanted ? *at : nullptr;
}

std::span<const Op* const> all_ops() { return kRows; }

}  // namespace kinglet::engine
