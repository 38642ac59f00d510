// SPDX-License-Identifier: Apache-2.0
// Mathematics of one tensor, element by element. Floats are computed in double and rounded once.
#include <cmath>
#include <limits>

#include "engine/ops/common.h"
#include "engine/ops/families/elementwise.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

template <double (*kFunction)(double)>
Result<void> evaluate_real(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return map_real(inputs, outputs, kFunction);
}

double reciprocal(double x) { return 1 / x; }
double square_root(double x) { return std::sqrt(x); }
double exponential(double x) { return std::exp(x); }
double logarithm(double x) { return std::log(x); }
double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }
double round_even(double x) { return std::nearbyint(x); }
double sine(double x) { return std::sin(x); }
double cosine(double x) { return std::cos(x); }
double error_function(double x) { return std::erf(x); }

template <typename F>
Result<void> evaluate_signed(Inputs inputs, std::span<Tensor> outputs, F f) {
  return visit_type(outputs[0].type(), [&]<typename T>() -> Result<void> {
    if constexpr (std::is_same_v<T, bool>) {
      return {};
    } else {
      return map<T>(inputs, outputs, f);
    }
  });
}

// The smallest integer has no opposite: it stays.
template <typename T>
T negated(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(x));
  } else {
    return -x;
  }
}

Result<void> evaluate_neg(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return evaluate_signed(inputs, outputs, []<typename T>(T x) { return negated(x); });
}

Result<void> evaluate_abs(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return evaluate_signed(inputs, outputs, []<typename T>(T x) {
    if constexpr (std::is_same_v<T, float>) {
      return std::abs(x);
    } else {
      return x < T{0} ? negated(x) : x;
    }
  });
}

Result<void> evaluate_sign(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return evaluate_signed(inputs, outputs, []<typename T>(T x) {
    return x > T{0} ? T{1} : x < T{0} ? negated(T{1}) : x;
  });
}

Result<void> evaluate_not(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return map<bool>(inputs, outputs, [](bool x) { return !x; });
}

Result<bool> lower_reciprocal(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], builder.layout(node.outputs[0])));
  const Operand one = KINGLET_TRY(builder.scalar(1));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.binary(xnn_binary_divide, one, input, output));
  return true;
}

}  // namespace

const OpParts kAbs = each_number(infer_same<kNumbers>, evaluate_abs, lower_unary<xnn_unary_abs>,
                                 {.never_negative = NeverNegative::kAlways});
const OpParts kNeg = each_number(infer_same<kNumbers>, evaluate_neg, lower_unary<xnn_unary_negate>);
const OpParts kSign = each_number(infer_same<kNumbers>, evaluate_sign);
const OpParts kNot = each_number(infer_same<kBool>, evaluate_not);
const OpParts kReciprocal = each_number(infer_same<kFloats>, evaluate_real<reciprocal>, lower_reciprocal);
const OpParts kSqrt = each_number(infer_same<kFloats>, evaluate_real<square_root>, lower_unary<xnn_unary_square_root>,
                                  {.never_negative = NeverNegative::kAlways});
const OpParts kExp = each_number(infer_same<kFloats>, evaluate_real<exponential>, lower_unary<xnn_unary_exp>,
                                 {.never_negative = NeverNegative::kAlways});
const OpParts kLog = each_number(infer_same<kFloats>, evaluate_real<logarithm>, lower_unary<xnn_unary_log>);
const OpParts kFloor = each_number(infer_same<kFloats>, evaluate_real<floor_of>, lower_unary<xnn_unary_floor>);
const OpParts kCeil = each_number(infer_same<kFloats>, evaluate_real<ceil_of>, lower_unary<xnn_unary_ceiling>);
const OpParts kRound =
    each_number(infer_same<kFloats>, evaluate_real<round_even>, lower_unary<xnn_unary_bankers_rounding>);
const OpParts kSin = each_number(infer_same<kFloats>, evaluate_real<sine>);
const OpParts kCos = each_number(infer_same<kFloats>, evaluate_real<cosine>);
const OpParts kErf = each_number(infer_same<kFloats>, evaluate_real<error_function>);

}  // namespace kinglet::engine::ops
