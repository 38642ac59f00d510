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

const Op kAbs{.op_type = "Abs",
              .infer = infer_same<kNumbers>,
              .evaluate = evaluate_abs,
              .lower = lower_unary<xnn_unary_abs>,
              .layout = LayoutRule::kFollow,
              .traits = {.elementwise = Elementwise::kUnary, .never_negative = NeverNegative::kAlways}};
const Op kNeg{.op_type = "Neg",
              .infer = infer_same<kNumbers>,
              .evaluate = evaluate_neg,
              .lower = lower_unary<xnn_unary_negate>,
              .layout = LayoutRule::kFollow,
              .traits = {.elementwise = Elementwise::kUnary}};
const Op kSign{.op_type = "Sign",
               .infer = infer_same<kNumbers>,
               .evaluate = evaluate_sign,
               .traits = {.elementwise = Elementwise::kUnary}};
const Op kNot{.op_type = "Not",
              .infer = infer_same<kBool>,
              .evaluate = evaluate_not,
              .traits = {.elementwise = Elementwise::kUnary}};
const Op kReciprocal{.op_type = "Reciprocal",
                     .infer = infer_same<kFloats>,
                     .evaluate = evaluate_real<reciprocal>,
                     .lower = lower_reciprocal,
                     .layout = LayoutRule::kFollow,
                     .traits = {.elementwise = Elementwise::kUnary}};
const Op kSqrt{.op_type = "Sqrt",
               .infer = infer_same<kFloats>,
               .evaluate = evaluate_real<square_root>,
               .lower = lower_unary<xnn_unary_square_root>,
               .layout = LayoutRule::kFollow,
               .traits = {.elementwise = Elementwise::kUnary, .never_negative = NeverNegative::kAlways}};
const Op kExp{.op_type = "Exp",
              .infer = infer_same<kFloats>,
              .evaluate = evaluate_real<exponential>,
              .lower = lower_unary<xnn_unary_exp>,
              .layout = LayoutRule::kFollow,
              .traits = {.elementwise = Elementwise::kUnary, .never_negative = NeverNegative::kAlways}};
const Op kLog{.op_type = "Log",
              .infer = infer_same<kFloats>,
              .evaluate = evaluate_real<logarithm>,
              .lower = lower_unary<xnn_unary_log>,
              .layout = LayoutRule::kFollow,
              .traits = {.elementwise = Elementwise::kUnary}};
const Op kFloor{.op_type = "Floor",
                .infer = infer_same<kFloats>,
                .evaluate = evaluate_real<floor_of>,
                .lower = lower_unary<xnn_unary_floor>,
                .layout = LayoutRule::kFollow,
                .traits = {.elementwise = Elementwise::kUnary}};
const Op kCeil{.op_type = "Ceil",
               .infer = infer_same<kFloats>,
               .evaluate = evaluate_real<ceil_of>,
               .lower = lower_unary<xnn_unary_ceiling>,
               .layout = LayoutRule::kFollow,
               .traits = {.elementwise = Elementwise::kUnary}};
const Op kRound{.op_type = "Round",
                .infer = infer_same<kFloats>,
                .evaluate = evaluate_real<round_even>,
                .lower = lower_unary<xnn_unary_bankers_rounding>,
                .layout = LayoutRule::kFollow,
                .traits = {.elementwise = Elementwise::kUnary}};
const Op kSin{.op_type = "Sin",
              .infer = infer_same<kFloats>,
              .evaluate = evaluate_real<sine>,
              .traits = {.elementwise = Elementwise::kUnary}};
const Op kCos{.op_type = "Cos",
              .infer = infer_same<kFloats>,
              .evaluate = evaluate_real<cosine>,
              .traits = {.elementwise = Elementwise::kUnary}};
const Op kErf{.op_type = "Erf",
              .infer = infer_same<kFloats>,
              .evaluate = evaluate_real<error_function>,
              .traits = {.elementwise = Elementwise::kUnary}};

}  // namespace kinglet::engine::ops
