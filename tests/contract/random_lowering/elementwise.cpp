// SPDX-License-Identifier: Apache-2.0
// Cases of operators that take number by number: activations, functions of one number, arithmetic.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/contract/random_lowering/cases.h"

namespace kinglet::engine::random_cases {
namespace {

Case unary(Draw& draw, const char* name, const std::string& attributes, Case made) {
  const std::string type = pick_type(draw, made);
  const std::vector<int> shape = any_shape(draw, 0, draw.one_in(4) ? 6 : 4);
  made.text = with_neighbours(draw, type, shape, std::format("%1 = {}(%x){}\n", name, attributes));
  return made;
}

// XNNPACK's polynomials are good to a few units of the result (its own tests ask for as much).
constexpr double kPolynomial = 12;

// The larger of both operands may be either, and either may be constant.
Case binary(Draw& draw, const char* name, Case made, bool positive_right = false) {
  const std::string type = pick_type(draw, made);
  const std::vector<int> shape = any_shape(draw, 0, draw.one_in(5) ? 6 : 4);
  std::vector<int> left = draw.one_in(4) ? broadcast_part(draw, shape) : shape;
  std::vector<int> right = draw.one_in(2) ? broadcast_part(draw, shape) : shape;
  const bool constant = draw.one_in(3);
  const char* sign = positive_right ? "+" : "";
  std::string inputs = std::format("%x = input {}[{}]\n", type, list(left));
  std::string other = "%y";
  if (constant) {
    other = std::format("c:{}[{}]#{}c", type, list(right), sign);
  } else {
    inputs += std::format("%y = input {}[{}]\n", type, list(right));
  }
  const bool swapped = draw.one_in(4);
  const bool twice = draw.one_in(12);
  if (twice) other = "%x";
  made.text = with_neighbours(
      draw, {.inputs = inputs,
             .node = std::format("%1 = {}({}, {})\n", name, swapped ? other : "%x", swapped ? "%x" : other),
             .rank = left.size(),
             .output_rank = std::max(left.size(), twice ? 0 : right.size()),
             .type = type});
  return made;
}

Case variadic(Draw& draw, const char* name, double roundings, double magnitude) {
  Case made{.roundings = roundings, .magnitude = magnitude};
  const std::string type = pick_type(draw, made);
  const std::vector<int> shape = any_shape(draw, 0, 5);
  std::string inputs = std::format("%x = input {}[{}]\n", type, list(shape));
  std::string operands = "%x";
  for (int i = draw.below(4); i > 0; --i) {
    const std::vector<int> part = draw.one_in(2) ? broadcast_part(draw, shape) : shape;
    switch (draw.below(3)) {
      case 0:
        inputs += std::format("%y{} = input {}[{}]\n", i, type, list(part));
        operands += std::format(", %y{}", i);
        break;
      case 1:
        operands += std::format(", c{}:{}[{}]#c{}", i, type, list(part), i);
        break;
      default:
        operands += ", %x";
    }
  }
  made.text = with_neighbours(draw, {.inputs = inputs,
                                     .node = std::format("%1 = {}({})\n", name, operands),
                                     .rank = shape.size(),
                                     .output_rank = shape.size(),
                                     .type = type});
  return made;
}

}  // namespace

Case relu(Draw& draw) { return unary(draw, "Relu", "", {.roundings = 0, .infinities = draw.one_in(2)}); }
Case leaky_relu(Draw& draw) {
  const double alpha = draw.pick({0.01, 0.2, -0.5, 0.0, 3.0, 0.001});
  return unary(draw, "LeakyRelu", std::format(" {{alpha={}}}", number(alpha)), {.roundings = 1});
}
Case elu(Draw& draw) {
  const double alpha = draw.pick({1.0, 0.7, 2.5, -0.5, 0.0});
  return unary(draw, "Elu", std::format(" {{alpha={}}}", number(alpha)),
               {.roundings = kPolynomial, .magnitude = std::abs(alpha), .scale = draw.pick({3.0, 30.0})});
}
Case sigmoid(Draw& draw) {
  return unary(draw, "Sigmoid", "",
               {.roundings = kPolynomial, .scale = draw.pick({3.0, 30.0, 300.0}), .infinities = draw.one_in(4)});
}
Case tanh(Draw& draw) {
  return unary(draw, "Tanh", "",
               {.roundings = kPolynomial, .scale = draw.pick({3.0, 30.0, 0.01}), .infinities = draw.one_in(4)});
}
Case gelu(Draw& draw) {  // x * (1 + erf(x / sqrt 2)) / 2 takes two numbers near 1 from each other
  const double scale = draw.pick({3.0, 10.0});
  return unary(draw, "Gelu", draw.pick({"", " {approximate=\"tanh\"}"}),
               {.roundings = kPolynomial, .magnitude = scale, .scale = scale});
}
Case silu(Draw& draw) {
  return unary(draw, "kinglet::Silu", "", {.roundings = kPolynomial, .scale = draw.pick({3.0, 30.0})});
}
Case celu(Draw& draw) {
  const double alpha = draw.pick({1.0, 0.7, 2.5, -0.5, 0.0, 1e-12, 1e20, 0.001});
  return unary(draw, "Celu", std::format(" {{alpha={}}}", number(alpha)),
               {.roundings = kPolynomial,
                .magnitude = std::clamp(std::abs(alpha), 1e-3, 1.0),
                .scale = draw.pick({3.0, 30.0}),
                .infinities = alpha > 0 && draw.one_in(4)});
}
Case mish(Draw& draw) {  // x * exp(x) far below 0, where XNNPACK's exponential has no numbers below 2^-126
  return unary(draw, "Mish", "",
               {.roundings = 4 * kPolynomial,
                .magnitude = 1e-30,
                .scale = draw.pick({3.0, 30.0, 300.0}),
                .infinities = draw.one_in(4)});
}
Case hard_sigmoid(Draw& draw) {
  const double alpha = draw.pick({0.2, 1.5, 1.0 / 6, -0.5, 0.0});
  const double beta = draw.pick({0.5, 0.25, -1.0, 0.0});
  return unary(draw, "HardSigmoid", std::format(" {{alpha={}, beta={}}}", number(alpha), number(beta)),
               {.roundings = 3, .magnitude = 3 * std::abs(alpha) + std::abs(beta)});
}
Case hard_swish(Draw& draw) { return unary(draw, "HardSwish", "", {.roundings = 4, .magnitude = 4, .scale = 4}); }
Case abs(Draw& draw) { return unary(draw, "Abs", "", {.roundings = 0, .infinities = draw.one_in(2)}); }
Case neg(Draw& draw) { return unary(draw, "Neg", "", {.roundings = 0, .infinities = draw.one_in(2)}); }
Case floor(Draw& draw) {
  return unary(draw, "Floor", "", {.roundings = 0, .scale = draw.pick({3.0, 1e4, 1e9}), .infinities = draw.one_in(4)});
}
Case ceil(Draw& draw) {
  return unary(draw, "Ceil", "", {.roundings = 0, .scale = draw.pick({3.0, 1e4, 1e9}), .infinities = draw.one_in(4)});
}
Case round(Draw& draw) {
  return unary(draw, "Round", "", {.roundings = 0, .scale = draw.pick({3.0, 1e4, 1e9}), .infinities = draw.one_in(4)});
}
Case sqrt(Draw& draw) { return unary(draw, "Sqrt", "", {.roundings = 4, .positive = true}); }
Case reciprocal(Draw& draw) { return unary(draw, "Reciprocal", "", {.roundings = 4, .positive = draw.one_in(2)}); }
Case log(Draw& draw) { return unary(draw, "Log", "", {.roundings = kPolynomial, .magnitude = 1, .positive = true}); }
Case exp(Draw& draw) { return unary(draw, "Exp", "", {.roundings = kPolynomial, .scale = draw.pick({3.0, 30.0})}); }

Case clip(Draw& draw) {
  Case made{.roundings = 0, .infinities = draw.one_in(3)};
  const std::string type = pick_type(draw, made);
  const auto bound = [&](const char* name) {
    const double value = draw.pick({0.0, 1.0, -1.0, 6.0, -0.0, 0.5, 1e-40, 1e30, -1e30});
    return draw.one_in(5) ? std::string("_") : std::format("{}:{}[]{{{}}}", name, type, number(value));
  };
  const std::string low = bound("a");
  const std::string high = bound("b");
  const std::vector<int> shape = any_shape(draw, 0, 5);
  made.text = with_neighbours(draw, type, shape, std::format("%1 = Clip(%x, {}, {})\n", low, high));
  return made;
}

Case add(Draw& draw) { return binary(draw, "Add", {.roundings = 1, .magnitude = 6, .infinities = draw.one_in(8)}); }
Case sub(Draw& draw) { return binary(draw, "Sub", {.roundings = 1, .magnitude = 6}); }
Case mul(Draw& draw) { return binary(draw, "Mul", {.roundings = 1}); }
Case div(Draw& draw) { return binary(draw, "Div", {.roundings = 2}, true); }
Case prelu(Draw& draw) {
  Case made{.roundings = 1};
  const std::string type = pick_type(draw, made);
  const std::vector<int> shape = any_shape(draw, 1, 5);
  const std::vector<int> slope = draw.one_in(2) ? broadcast_part(draw, shape) : shape;
  made.text = with_neighbours(draw, type, shape, std::format("%1 = PRelu(%x, c:{}[{}]#c)\n", type, list(slope)));
  return made;
}
Case pow(Draw& draw) {
  Case made{.roundings = kPolynomial, .positive = draw.one_in(2)};
  const std::string type = pick_type(draw, made);
  const std::vector<int> shape = any_shape(draw, 0, 5);
  const std::string exponent =
      draw.pick({"e:{}[]{{2}}", "e:{}[1]{{2}}", "e:{}[1,1]{{2}}", "e:{}[]{{3}}", "e:{}[]{{0.5}}"});
  made.text = with_neighbours(draw, type, shape,
                              std::format("%1 = Pow(%x, {})\n", std::vformat(exponent, std::make_format_args(type))));
  return made;
}

Case min(Draw& draw) { return variadic(draw, "Min", 0, 0); }
Case max(Draw& draw) { return variadic(draw, "Max", 0, 0); }
Case sum(Draw& draw) { return variadic(draw, "Sum", 3, 12); }
Case mean(Draw& draw) { return variadic(draw, "Mean", 5, 3); }

}  // namespace kinglet::engine::random_cases
