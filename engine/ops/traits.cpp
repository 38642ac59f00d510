// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/traits.h"

#include <algorithm>

#include "engine/ops/op.h"

namespace kinglet::engine {

const Traits& traits_of(const Node& node) {
  static constexpr Traits kNone;
  const Op* op = find_op(node.domain, node.op_type);
  return op == nullptr ? kNone : op->traits;
}

bool is_clamp(const Node& node) { return traits_of(node).clamp != Clamp::kNo; }

bool is_reshape(const Node& node) { return traits_of(node).reshapes; }

bool windows_hold_data(const Node& node) {
  return !traits_of(node).pads_with_least ||
         std::ranges::all_of(node.attributes.get_ints("dilations"), [](std::int64_t step) { return step == 1; });
}

}  // namespace kinglet::engine
