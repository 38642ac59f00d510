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
  kLayer,     // products with constant weights
  kSum,       // of two tensors
  kProduct,   // of two tensors
  kTable,     // y of each of the 256 levels of x
  kMean,      // over rows and columns
  kWindow,    // means of windows of one size
  kJoin,      // levels move, perhaps to another scale
  kRealOnly,  // XNNPACK has none
};

// Where an 8-bit operator lists its tensors: each stands before its scale and zero point.
struct QLinearForm {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  QLinearKind kind;
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
// The form that computes what the node, an operator of ONNX on real numbers, does; nullptr: there is none. Of averages
// only those whose windows all count the same number of pixels.
[[nodiscard]] const QLinearForm* qlinear_form_for(const Node& node);

// fuse_quantized's mark of a MatMulIntegerToFloat that was a Gemm: its weight is [N,K], as XNNPACK packs it soonest.
inline constexpr std::string_view kTransposedWeight = "kinglet_trans_b";

// fuse_quantized's mark: this node runs in integers, expand_qlinear leaves it alone.
inline constexpr std::string_view kRunsInIntegers = "kinglet_integers";
[[nodiscard]] inline bool runs_in_integers(const Node& node) {
  return node.attributes.get_int(kRunsInIntegers, 0) != 0;
}

// The node only moves or picks numbers of input 0 (of all inputs: Concat), so levels keep their meaning. No MaxPool
// with dilation: a window of it that lies in the padding as a whole has no value.
[[nodiscard]] bool keeps_levels(const Node& node);

// The one number each of the constants at input `scale` and `scale + 1` (absent: 0); nothing for other forms.
[[nodiscard]] std::optional<LinearQuantization> quantization_at(const Graph& graph, const Node& node,
                                                                std::size_t scale);

// Of an 8-bit value, from what makes it, or else from the first that reads it; through nodes that keep levels.
[[nodiscard]] std::optional<LinearQuantization> quantization_of(const Graph& graph, ValueId id);

[[nodiscard]] bool is_all_zero(const Tensor& tensor);

}  // namespace kinglet::engine
