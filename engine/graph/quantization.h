// SPDX-License-Identifier: Apache-2.0
// Why: what a number of 8 bits stands for, x = (level - zero point) * scale, and where a graph says it: at the
// QuantizeLinear or 8-bit operator that makes a value, at the DequantizeLinear or 8-bit operator that reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/graph/graph.h"

namespace kinglet::engine {

// Of a whole tensor.
struct LinearQuantization {
  float scale = 1;
  std::int32_t zero_point = 0;
  bool operator==(const LinearQuantization&) const = default;
};

// Factors that XNNPACK asserts to lie in [least, most), where it makes an operator.
struct ScaleRatios {
  double least = 0, most = 0;
  [[nodiscard]] constexpr bool hold(double ratio) const { return ratio >= least && ratio < most; }
};
inline constexpr ScaleRatios kLayerRatios{0x1p-32, 0x1p8};      // scale of x * scale of w / scale of y
inline constexpr ScaleRatios kSumRatios{0x1p-10, 0x1p8};        // scale of each part / scale of y
inline constexpr ScaleRatios kProductRatios{0x1p-16, 0x1p8};    // scale of a * scale of b / scale of y
inline constexpr ScaleRatios kConversionRatios{0x1p-8, 0x1p7};  // scale of x / scale of y: other levels, means

// How an operator is computed in integers.
enum class QLinearKind : std::uint8_t {
  kNone,      // it is no 8-bit operator
  kLayer,     // products with constant weights
  kSum,       // of two tensors
  kProduct,   // of two tensors
  kTable,     // y of each of the 256 levels of x
  kLines,     // y of x by a factor above zero and another one below: LeakyRelu
  kMean,      // over rows and columns
  kWindow,    // means of windows of one size
  kJoin,      // levels move, perhaps to another scale
  kRealOnly,  // XNNPACK has none
};

// What an 8-bit operator computes, and where it lists its tensors: each stands before its scale and zero point. It
// stands in the operator's row (engine/ops/op.h).
struct QLinearForm {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  QLinearKind kind = QLinearKind::kNone;
  std::string_view becomes = {};  // ONNX's operator on real numbers
  std::size_t a = 0, b = kNone, bias = kNone;
  std::size_t y_scale = 3;  // the result's scale and zero point
  // Of the operator on real numbers the forms that it computes; null: all.
  bool (*fits)(const Node& real) = nullptr;
};

// What the rows of operators say of levels (engine/ops/levels.h has them), told to rooms below those rows.
struct LevelRules {
  bool (*keep)(const Node& node);                   // it only moves or picks numbers
  const QLinearForm* (*form_of)(const Node& node);  // nullptr: it is no 8-bit operator
};

// fuse_quantized's mark of a MatMulIntegerToFloat that was a Gemm: its weight is [N,K], as XNNPACK packs it soonest.
inline constexpr std::string_view kTransposedWeight = "kinglet_trans_b";

// fuse_quantized's mark: this node runs in integers, expand_qlinear leaves it alone.
inline constexpr std::string_view kRunsInIntegers = "kinglet_integers";
[[nodiscard]] inline bool runs_in_integers(const Node& node) {
  return node.attributes.get_int(kRunsInIntegers, 0) != 0;
}

// The one number each of the constants at input `scale` and `scale + 1` (absent: 0); nothing for other forms.
[[nodiscard]] std::optional<LinearQuantization> quantization_at(const Graph& graph, const Node& node,
                                                                std::size_t scale);

// Of an 8-bit value, from what makes it, or else from the first that reads it; through nodes that keep levels.
[[nodiscard]] std::optional<LinearQuantization> quantization_of(const Graph& graph, ValueId id,
                                                                const LevelRules& rules);

// From those that read it alone.
[[nodiscard]] std::optional<LinearQuantization> quantization_by_readers(const Graph& graph, ValueId id,
                                                                        const LevelRules& rules);

[[nodiscard]] bool is_all_zero(const Tensor& tensor);

}  // namespace kinglet::engine
