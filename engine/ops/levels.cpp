// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/levels.h"

#include <algorithm>

namespace kinglet::engine {
namespace {

bool keeps(const Node& node, Levels how) { return traits_of(node).levels == how && windows_hold_data(node); }

}  // namespace

const QLinearForm* qlinear_form(const Node& node) {
  const Op* op = find_op(node.domain, node.op_type);
  return op == nullptr || op->qlinear.kind == QLinearKind::kNone ? nullptr : &op->qlinear;
}

const Op* qlinear_op_for(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  const auto rows = all_ops();
  const auto found = std::ranges::find_if(
      rows, [&](const Op& op) { return op.qlinear.kind != QLinearKind::kNone && op.qlinear.becomes == node.op_type; });
  if (found == rows.end()) return nullptr;
  const QLinearForm& form = found->qlinear;
  return form.fits == nullptr || form.fits(node) ? &*found : nullptr;
}

const QLinearForm* qlinear_form_for(const Node& node) {
  const Op* op = qlinear_op_for(node);
  return op == nullptr ? nullptr : &op->qlinear;
}

bool is_layer(const Node& node) {
  const QLinearForm* form = qlinear_form_for(node);
  return form != nullptr && form->kind == QLinearKind::kLayer;
}

bool keeps_levels(const Node& node) {
  return !node.inputs.empty() && (keeps(node, Levels::kOfFirst) || joins_levels(node));
}

bool joins_levels(const Node& node) { return !node.inputs.empty() && keeps(node, Levels::kOfAll); }

Numbers numbers_of(const Node& node) {
  const QLinearForm* form = qlinear_form(node);
  const Op* computed = form == nullptr ? nullptr : find_op("", form->becomes);
  return computed == nullptr ? traits_of(node).numbers : computed->traits.numbers;
}

bool is_never_negative(const Node& node) { return traits_of(node).never_negative == NeverNegative::kAlways; }

}  // namespace kinglet::engine
