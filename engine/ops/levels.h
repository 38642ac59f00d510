// SPDX-License-Identifier: Apache-2.0
// Why: what the rows of operators say of numbers of 8 bits: which operators compute with them, which only move them,
// and so what a value's levels stand for (engine/graph/quantization.h); and what rooms below the rows ask of any
// numbers.
#pragma once

#include "engine/graph/row_rules.h"
#include "engine/ops/op.h"

namespace kinglet::engine {

// Of the node's row; nullptr: it is no 8-bit operator.
[[nodiscard]] const QLinearForm* qlinear_form(const Node& node);

// The 8-bit operator that computes what the node, an operator of ONNX on real numbers, does; nullptr: there is none.
[[nodiscard]] const Op* qlinear_op_for(const Node& node);
// Its form.
[[nodiscard]] const QLinearForm* qlinear_form_for(const Node& node);

// A product with weights that has an 8-bit form: Conv, Gemm, MatMul.
[[nodiscard]] bool is_layer(const Node& node);

// The node only moves or picks numbers of input 0, or of all inputs (joins_levels), so levels keep their meaning. No
// MaxPool with dilation: a window of it that lies in the padding as a whole has no value.
[[nodiscard]] bool keeps_levels(const Node& node);
[[nodiscard]] bool joins_levels(const Node& node);

// Of the node's row; of an 8-bit operator, of the row of what it computes.
[[nodiscard]] Numbers numbers_of(const Node& node);
// Of the node's row: NeverNegative::kAlways.
[[nodiscard]] bool is_never_negative(const Node& node);

inline constexpr LevelRules kLevelRules{.keep = keeps_levels, .form_of = qlinear_form};
inline constexpr RowRules kRowRules{kLevelRules, numbers_of, is_never_negative};
[[nodiscard]] inline std::optional<LinearQuantization> quantization_of(const Graph& graph, ValueId id) {
  return quantization_of(graph, id, kLevelRules);
}
[[nodiscard]] inline std::optional<LinearQuantization> quantization_by_readers(const Graph& graph, ValueId id) {
  return quantization_by_readers(graph, id, kLevelRules);
}

}  // namespace kinglet::engine
