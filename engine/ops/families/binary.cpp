// SPDX-License-Identifier: Apache-2.0
// Arithmetic and comparison of two tensors (Sum, Mean, Min, Max: any number) with numpy broadcasting.
// Integers wrap; division by zero gives 0 there, so that no file can trap the process.
#include <cmath>
#include <limits>
#include <utility>

#include "engine/ops/common.h"
#include "engine/ops/families/elementwise.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

template <TypeSet kTypes>
Result<void> infer_arithmetic(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kTypes));
  for (std::size_t i = 1; i < context.input_count(); ++i) KINGLET_TRY(need_type_of(context, i, 0));
  context.set_output(0, context.input_type(0), KINGLET_TRY(broadcast_inputs(context)));
  return {};
}

template <TypeSet kTypes>
Result<void> infer_comparison(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kTypes));
  KINGLET_TRY(need_type_of(context, 1, 0));
  context.set_output(0, DataType::kBool, KINGLET_TRY(broadcast_inputs(context)));
  return {};
}

// Unsigned arithmetic of the same width, so that overflow wraps and is defined; floats stay floats.
template <typename T>
struct Wrapping {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct Wrapping<float> {
  using Type = float;
};

template <typename F>
Result<void> evaluate_numbers(Inputs inputs, std::span<Tensor> outputs, F f) {
  return visit_type(outputs[0].type(), [&]<typename T>() -> Result<void> {
    if constexpr (!std::is_same_v<T, bool>) combine<T, T>(*inputs[0], *inputs[1], outputs[0], f);
    return {};
  });
}

Result<void> evaluate_add(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return evaluate_numbers(inputs, outputs, []<typename T>(T a, T b) {
    using W = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  });
}

Result<void> evaluate_sub(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return evaluate_numbers(inputs, outputs, []<typename T>(T a, T b) {
    using W = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<W>(a) - static_cast<W>(b));
  });
}

Result<void> evaluate_mul(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return evaluate_numbers(inputs, outputs, []<typename T>(T a, T b) { return wrapping_product(a, b); });
}

// True when a / b would trap.
template <typename T>
bool traps(T a, T b) {
  if (b == T{0}) return true;
  return std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == static_cast<T>(-1);
}

Result<void> evaluate_div(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return evaluate_numbers(inputs, outputs, []<typename T>(T a, T b) {
    if constexpr (std::is_same_v<T, float>) {
      return a / b;
    } else {
      if (traps(a, b)) return b == T{0} ? T{0} : a;
      return static_cast<T>(a / b);
    }
  });
}

Result<void> evaluate_mod(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const bool c_style = node.attributes.get_int("fmod", 0) != 0;
  return evaluate_numbers(inputs, outputs, [=]<typename T>(T a, T b) {
    if constexpr (std::is_same_v<T, float>) {
      const float rest = std::fmod(a, b);
      return !c_style && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      if (traps(a, b)) return T{0};
      const T rest = static_cast<T>(a % b);
      return !c_style && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    }
  });
}

// NaN wins, as numpy has it.
Result<void> fold(Inputs inputs, std::span<Tensor> outputs, auto f) {
  const Tensor start(outputs[0].type(), {});
  bool first = true;
  for (const Tensor* input : inputs) {
    if (input == nullptr) continue;
    const Tensor before = std::exchange(outputs[0], Tensor(outputs[0].type(), outputs[0].shape()));
    visit_type(outputs[0].type(), [&]<typename T>() {
      if constexpr (!std::is_same_v<T, bool>) {
        if (first) {
          combine<T, T>(*input, start, outputs[0], [](T a, T /*unused*/) { return a; });
        } else {
          combine<T, T>(before, *input, outputs[0], f);
        }
      }
    });
    first = false;
  }
  return {};
}

Result<void> evaluate_min(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return fold(inputs, outputs, []<typename T>(T a, T b) { return a != a || a < b ? a : b; });
}

Result<void> evaluate_max(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return fold(inputs, outputs, []<typename T>(T a, T b) { return a != a || b < a ? a : b; });
}

Result<void> evaluate_sum(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return fold(inputs, outputs, []<typename T>(T a, T b) {
    using W = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  });
}

Result<void> evaluate_mean(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  KINGLET_TRY(evaluate_sum(node, inputs, outputs));
  for (float& value : outputs[0].mutable_data<float>()) value /= static_cast<float>(inputs.size());
  return {};
}

Result<bool> lower_mean(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs.size() != 2) return false;
  const Operand a = KINGLET_TRY(broadcast_operand(builder, node, 0));
  const Operand b = KINGLET_TRY(broadcast_operand(builder, node, 1));
  const Operand half = KINGLET_TRY(builder.scalar(0.5F));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  const Operand sum = KINGLET_TRY(builder.temporary(Dims(builder.dims(output))));
  KINGLET_TRY(builder.binary(xnn_binary_add, a, b, sum));
  KINGLET_TRY(builder.binary(xnn_binary_multiply, sum, half, output));
  return true;
}

// --- Pow: the exponent may have another type; the result has the base's. --------------------------------------------

Result<void> infer_pow(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kNumbers));
  KINGLET_TRY(need_type(context, 1, kNumbers));
  context.set_output(0, context.input_type(0), KINGLET_TRY(broadcast_inputs(context)));
  return {};
}

// Integer power by squaring, wrapping.
template <typename T>
T integer_power(T base, std::int64_t exponent) {
  using U = std::uint64_t;
  if (exponent < 0) return base == T{1} ? T{1} : base == static_cast<T>(-1) ? (exponent % 2 != 0 ? base : T{1}) : T{0};
  U result = 1;
  U square = static_cast<U>(static_cast<std::int64_t>(base));
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= square;
    square *= square;
  }
  return static_cast<T>(result);
}

template <typename T, typename E>
T power(T base, E exponent) {
  if constexpr (std::is_integral_v<T> && std::is_integral_v<E>) {
    return integer_power(base, static_cast<std::int64_t>(exponent));
  } else {
    const double result = std::pow(static_cast<double>(base), static_cast<double>(exponent));
    if constexpr (std::is_same_v<T, float>) return static_cast<float>(result);
    if (!(std::abs(result) < 9.2e18)) return T{0};
    return static_cast<T>(static_cast<std::int64_t>(result));
  }
}

Result<void> evaluate_pow(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  const Tensor& a = *inputs[0];
  const Tensor& b = *inputs[1];
  visit_type(a.type(), [&]<typename T>() {
    visit_type(b.type(), [&]<typename E>() {
      const auto base = a.data<T>();
      const auto exponent = b.data<E>();
      const auto out = outputs[0].mutable_data<T>();
      std::size_t next = 0;
      const Shape& shape = outputs[0].shape();
      walk<2>(shape, {broadcast_strides(a.shape(), shape), broadcast_strides(b.shape(), shape)}, [&](const auto& at) {
        out[next++] = power<T, E>(base[static_cast<std::size_t>(at[0])], exponent[static_cast<std::size_t>(at[1])]);
      });
    });
  });
  return {};
}

Result<bool> lower_pow(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto exponent = scalar_constant(graph, node, 1);
  if (!exponent || graph.value(node.inputs[0]).shape != graph.value(node.outputs[0]).shape) return false;
  if (*exponent == 2) return lower_unary<xnn_unary_square>(builder, graph, id);
  return false;
}

// --- Comparison and logic -------------------------------------------------------------------------------------------

template <typename F>
Result<void> compare(Inputs inputs, std::span<Tensor> outputs, F f) {
  return visit_type(inputs[0]->type(), [&]<typename T>() -> Result<void> {
    combine<T, bool>(*inputs[0], *inputs[1], outputs[0], f);
    return {};
  });
}

template <typename F>
Result<void> evaluate_comparison(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  return compare(inputs, outputs, F{});
}

// Bool is a small integer here: the named functions avoid bitwise operators on it.
struct BothTrue {
  template <typename T>
  bool operator()(T a, T b) const {
    return a != T{} && b != T{};
  }
};
struct AnyTrue {
  template <typename T>
  bool operator()(T a, T b) const {
    return a != T{} || b != T{};
  }
};
struct OneTrue {
  template <typename T>
  bool operator()(T a, T b) const {
    return (a != T{}) != (b != T{});
  }
};

// Broadcast to each other, of any number of inputs.
constexpr OpParts of_all(Infer infer, Evaluate evaluate, Lower lower, Traits traits) {
  traits.elementwise = Elementwise::kBroadcast;
  return {.infer = infer, .evaluate = evaluate, .lower = lower, .traits = traits};
}

constexpr OpParts of_two(Infer infer, Evaluate evaluate, Lower lower = nullptr, Traits traits = {}) {
  OpParts parts = of_all(infer, evaluate, lower, traits);
  parts.normalize = normalize_legacy_broadcast;
  return parts;
}

}  // namespace

const OpParts kMod = of_two(infer_arithmetic<kNumbers>, evaluate_mod);
const OpParts kEqual = of_two(infer_comparison<kAnyType>, evaluate_comparison<std::equal_to<>>);
const OpParts kLess = of_two(infer_comparison<kNumbers>, evaluate_comparison<std::less<>>);
const OpParts kLessOrEqual = of_two(infer_comparison<kNumbers>, evaluate_comparison<std::less_equal<>>);
const OpParts kGreater = of_two(infer_comparison<kNumbers>, evaluate_comparison<std::greater<>>);
const OpParts kGreaterOrEqual = of_two(infer_comparison<kNumbers>, evaluate_comparison<std::greater_equal<>>);
const OpParts kAnd = of_two(infer_comparison<kBool>, evaluate_comparison<BothTrue>);
const OpParts kOr = of_two(infer_comparison<kBool>, evaluate_comparison<AnyTrue>);
const OpParts kXor = of_two(infer_comparison<kBool>, evaluate_comparison<OneTrue>);

const OpParts kPow = of_two(infer_pow, evaluate_pow, lower_pow);
const OpParts kAdd = of_two(infer_arithmetic<kNumbers>, evaluate_add, lower_binary<xnn_binary_add>,
                            {.never_negative = NeverNegative::kLikeInputs, .adds = true, .takes_clip = true});
const OpParts kSub =
    of_two(infer_arithmetic<kNumbers>, evaluate_sub, lower_binary<xnn_binary_subtract>, {.takes_clip = true});
const OpParts kMul = of_two(infer_arithmetic<kNumbers>, evaluate_mul, lower_binary<xnn_binary_multiply>,
                            {.never_negative = NeverNegative::kLikeInputs, .takes_clip = true});
const OpParts kDiv =
    of_two(infer_arithmetic<kNumbers>, evaluate_div, lower_binary<xnn_binary_divide>, {.takes_clip = true});
const OpParts kMin = of_all(infer_arithmetic<kNumbers>, evaluate_min, lower_binary<xnn_binary_minimum>,
                            {.never_negative = NeverNegative::kLikeInputs, .fits_half = false});
const OpParts kMax =
    of_all(infer_arithmetic<kNumbers>, evaluate_max, lower_binary<xnn_binary_maximum>, {.fits_half = false});
const OpParts kSum = of_all(infer_arithmetic<kNumbers>, evaluate_sum, lower_binary<xnn_binary_add>,
                            {.never_negative = NeverNegative::kLikeInputs});
const OpParts kMean =
    of_all(infer_arithmetic<kFloats>, evaluate_mean, lower_mean, {.never_negative = NeverNegative::kLikeInputs});

}  // namespace kinglet::engine::ops
