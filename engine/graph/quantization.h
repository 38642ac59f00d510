// SPDX-License-Identifier: Apache-2.0
// Why: what a number of 8 bits stands for, x = (level - zero point) * scale, and where a graph says it: at the
// QuantizeLinear or 8-bit operator that makes a value, at the DequantizeLinear or 8-bit operator that reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/graph/graph.h"

namespace kinglet::engine {

// Of a whole tensor.
struct LinearQuantization {
  float scale = 1;
  std::int32_t zero_point = 0;
  bool operator==(const LinearQuantization&) const = default;
};

// Where an 8-bit operator lists its tensors: each stands before its scale and zero point.
struct QLinearForm {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::string_view domain, op_type;
  std::string_view becomes;  // the operator on real numbers
  std::size_t a, b, bias;    // kNone: it has none
  std::size_t y_scale;       // the result's scale and zero point
};
// Of ONNX: QLinearConv, QLinearMatMul. Of com.microsoft: QGemm, QLinearAdd, QLinearMul, QLinearSigmoid,
// QLinearLeakyRelu, QLinearSoftmax, QLinearConcat (a, b, c ... as many as there are), QLinearAveragePool,
// QLinearGlobalAveragePool. kinglet's own: QLinearHardSwish, QLinearTanh.
[[nodiscard]] std::span<const QLinearForm> qlinear_forms();
[[nodiscard]] const QLinearForm* qlinear_form(const Node& node);  // nullptr: the node is none of them
[[nodiscard]] bool has_weight(const QLinearForm& form);           // b is a weight, with a scale for each output channel

// fuse_quantized's mark: this node runs in integers, expand_qlinear leaves it alone.
inline constexpr std::string_view kRunsInIntegers = "kinglet_integers";
[[nodiscard]] inline bool runs_in_integers(const Node& node) {
  return node.attributes.get_int(kRunsInIntegers, 0) != 0;
}

// The node only moves or picks numbers of input 0 (of all inputs: Concat), so levels keep their meaning.
[[nodiscard]] bool keeps_levels(const Node& node);

// The one number each of the constants at input `scale` and `scale + 1` (absent: 0); nothing for other forms.
[[nodiscard]] std::optional<LinearQuantization> quantization_at(const Graph& graph, const Node& node,
                                                                std::size_t scale);

// Of an 8-bit value, from what makes it, or else from the first that reads it; through nodes that keep levels.
[[nodiscard]] std::optional<LinearQuantization> quantization_of(const Graph& graph, ValueId id);
[[nodiscard]] std::optional<LinearQuantization> quantization_of_maker(const Graph& graph, ValueId id);

}  // namespace kinglet::engine
