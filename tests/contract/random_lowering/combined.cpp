// SPDX-License-Identifier: Apache-2.0
// Cases that belong to no single operator: operators on whole 8-bit numbers, which are not the real numbers that the
// levels stand for; and operators between DequantizeLinear and QuantizeLinear, which the passes join.
#include <cmath>

#include "tests/contract/random_lowering/cases.h"

namespace kinglet::engine::random_cases {
// ONNX computes with the levels as they are (they wrap, Relu cuts at level 0) whatever a reader takes them for.
Case whole_numbers(Draw& draw) {
  const std::string type = draw.pick({"i8", "u8"});
  const std::vector<int> shape = any_shape(draw, 1, 4);
  const std::string other = draw.one_in(2) ? "%x" : "%y";
  const std::string one = std::format("c:{}[1]{{3}}", type);
  const int axis = draw.below(static_cast<int>(shape.size()));
  const std::string node = draw.pick(
      {std::format("Add(%x, {})", other), std::format("Sub(%x, {})", other), std::format("Mul(%x, {})", other),
       std::string("Relu(%x)"), std::string("Abs(%x)"), std::format("Max(%x, {})", other),
       std::format("Min(%x, {})", other), std::format("Sum(%x, {})", other),
       std::format("Clip(%x, {}, _)", "l:" + type + "[]{7}"), std::format("PRelu(%x, {})", one),
       std::format("Add(%x, {})", one), std::string("Neg(%x)"), std::format("ReduceMean(%x, a:i64[1]{{{}}})", axis),
       std::format("ReduceSum(%x, a:i64[1]{{{}}})", axis), std::format("Pow(%x, e:{}[]{{2}})", type),
       std::format("ReduceL2(%x, a:i64[1]{{{}}})", axis), std::format("ReduceSumSquare(%x, a:i64[1]{{{}}})", axis)});
  Case made{.roundings = 0};
  const std::string y = other == "%y" ? std::format("%y = input {}[{}]\n", type, list(shape)) : "";
  made.text = std::format(
      "%x = input {0}[{1}]\n{2}%1 = {3}\n%2 = DequantizeLinear(%1, s:f32[]{{0.25}}, z:{0}[]{{{4}}})\noutput %2\n", type,
      list(shape), y, node, draw.pick({0, 3, 100}));
  return made;
}

// MaxPool and others of levels that a quantised node makes.
Case levels_move(Draw& draw) {
  const std::string type = draw.pick({"i8", "u8"});
  const int height = draw.between(1, 3);
  const int width = draw.between(1, 3);
  Case made{.roundings = 2, .magnitude = 256 * 0.05, .step = 1.0001 * 0.05};
  const std::string node =
      draw.pick({std::format("MaxPool(%1) {{kernel_shape=[{0},{1}], pads=[{2},{3},{4},{5}], strides=[{6},{7}], "
                             "dilations=[{8},{9}], ceil_mode={10}}}",
                             height, width, draw.below(height), draw.below(width), draw.below(height),
                             draw.below(width), draw.between(1, 3), draw.between(1, 3), draw.one_in(4) ? 2 : 1,
                             draw.one_in(4) ? 2 : 1, draw.below(2)),
                 std::format("Transpose(%1) {{perm=[{}]}}", list(draw.permutation(4))),
                 std::string("Reshape(%1, t:i64[2]{0,-1})"), std::string("Concat(%1, %1) {axis=1}"),
                 std::string("Slice(%1, a:i64[1]{1}, b:i64[1]{9}, c:i64[1]{2})"), std::string("Relu(%1)"),
                 std::string("Add(%1, %1)"), std::string("Pad(%1, p:i64[8]{0,0,1,1,0,0,1,0})")});
  made.text = std::format(
      "%x = input f32[{0},{1},{2},{3}]\n%1 = QuantizeLinear(%x, s:f32[]{{0.05}}, z:{4}[]{{{5}}})\n%2 = {6}\n"
      "%3 = DequantizeLinear(%2, s, z)\noutput %3\n",
      draw.between(1, 2), draw.between(1, 20), draw.between(3, 9), draw.between(3, 9), type, draw.pick({0, 3, 100}),
      node);
  if (node.starts_with("Add")) made.step *= 300;  // two neighbours of one level may wrap differently
  return made;
}

// What files of quantisers hold: the passes may make it one operator in integers.
Case between_levels(Draw& draw) {
  const std::string type = draw.pick({"i8", "u8"});
  const int offset = type == "i8" ? 0 : 128;
  const double xs = draw.power(-6, 0);
  const int channels = draw.between(1, 20);
  const int side = draw.between(2, 8);
  Case made;
  double typical = xs;
  double bias_step = 0;
  std::string node;
  std::string extra;
  switch (draw.below(9)) {
    case 0:
      node = "Add(%2, %2)";
      typical = 2 * xs;
      break;
    case 1:
      node = "Mul(%2, %2)";
      typical = 60 * xs * xs;
      break;
    case 2:
      node = draw.pick({"Sigmoid(%2)", "Tanh(%2)"});
      typical = 1.0 / 128;
      break;
    case 3:
      node = std::format("LeakyRelu(%2) {{alpha={}}}", number(draw.pick({0.01, 0.2, 0.001, 0.0, -0.5, 3.0, 200.0})));
      break;
    case 4:
      node = "HardSwish(%2)";
      break;
    case 5:
      node = draw.pick({"GlobalAveragePool(%2)", "AveragePool(%2) {kernel_shape=[2,2]}",
                        "AveragePool(%2) {kernel_shape=[2,2], pads=[1,0,0,1]}",
                        "AveragePool(%2) {kernel_shape=[2,2], pads=[1,0,0,1], count_include_pad=1}",
                        "AveragePool(%2) {kernel_shape=[2,2], strides=[2,2], ceil_mode=1}"});
      break;
    case 6:
      node = "Concat(%2, %2) {axis=1}";
      break;
    default: {
      const int outputs = draw.between(1, 24);
      const bool depthwise = draw.one_in(3);
      const double ws = draw.power(-10, -2);
      extra = std::format("%w = DequantizeLinear(wq:{}[{},{},3,3]#w, ws:f32[]{{{}}}, wz:{}[]{{{}}})\n", type,
                          depthwise ? channels : outputs, depthwise ? 1 : channels, number(ws), type, offset);
      node = std::format("Conv(%2, %w{}) {{pads=[1,1,1,1], group={}}}",
                         draw.one_in(2) ? std::format(", b:f32[{}]#b", depthwise ? channels : outputs) : "",
                         depthwise ? channels : 1);
      bias_step = 0.5 * xs * ws;
      typical = xs * ws * 180 * std::sqrt(static_cast<double>(depthwise ? 1 : channels));
    }
  }
  const double ys = std::ldexp(typical * (1 + draw.below(16) / 16.0), draw.one_in(5) ? draw.between(-9, 9) : 0);
  made.roundings = 9 * channels + 4;
  made.magnitude = 256 * ys;
  made.step = 1.0001 * ys;
  made.fused_step = bias_step;
  std::string bounds;
  std::string result = "%3";
  if (draw.one_in(3)) {
    bounds = draw.pick({"%4 = Relu(%3)\n", "%4 = Clip(%3, lo:f32[]{-0.5}, hi:f32[]{1.25})\n"});
    result = "%4";
  }
  made.text = std::format(
      "%x = input {0}[{1},{2},{3},{3}]\n%2 = DequantizeLinear(%x, xs:f32[]{{{4}}}, xz:{0}[]{{{5}}})\n{6}%3 = {7}\n{8}"
      "%5 = QuantizeLinear({9}, ys:f32[]{{{10}}}, yz:{0}[]{{{11}}})\n%6 = DequantizeLinear(%5, ys, yz)\noutput %6\n",
      type, draw.between(1, 2), channels, side, number(xs), draw.pick({0, 5, -128, 127}) + offset, extra, node, bounds,
      result, number(ys), draw.pick({0, -7, -128, 127}) + offset);
  return made;
}

// Layers of uint8 as TensorFlow's old quantiser writes them: weights around a level that is not 128, of which most or
// few channels would be int8 around 0.
Case around_another_level(Draw& draw) {
  const bool depthwise = draw.one_in(3);
  const bool matrix = !depthwise && draw.one_in(3);
  const bool rows = matrix && draw.one_in(2);
  const int inputs = draw.between(1, 40);
  const int outputs = depthwise ? inputs : draw.between(1, 40);
  std::vector<int> shape_of_rows = any_shape(draw, 0, 3);
  shape_of_rows.push_back(inputs);
  const double xs = draw.power(-6, 0);
  const double ws = draw.power(-10, -2);
  const int each = depthwise ? 9 : matrix ? inputs : 9 * inputs;
  const int zero = draw.pick({120, 128, 130, 140, 200, 0});
  const double ys = xs * ws * 60 * std::sqrt(static_cast<double>(each));
  Case made{.roundings = each + 4.0, .magnitude = 256 * ys, .step = 1.0001 * ys, .fused_step = 0.5 * xs * ws};
  std::string levels;
  for (int i = 0; i < each * outputs; ++i) {
    const bool far = draw.one_in(each * 12);
    const int level = far ? draw.pick({0, 255}) : zero + draw.between(-100, 100);
    levels += std::format("{}{}", i > 0 ? "," : "", std::clamp(level, 0, 255));
  }
  const std::string bias = draw.one_in(2) ? std::format(", b:f32[{}]#b", outputs) : "";
  const std::string shape = rows        ? std::format("{},{}", inputs, outputs)
                            : matrix    ? std::format("{},{}", outputs, inputs)
                            : depthwise ? std::format("{},1,3,3", outputs)
                                        : std::format("{},{},3,3", outputs, inputs);
  const std::string node = rows     ? "MatMul(%2, %w)"
                           : matrix ? std::format("Gemm(%2, %w{}) {{transB=1}}", bias)
                                    : std::format("Conv(%2, %w{}) {{pads=[{},1,1,0], group={}}}", bias, draw.below(2),
                                                  depthwise ? inputs : 1);
  made.text = std::format(
      "%x = input f32[{}]\n%1 = QuantizeLinear(%x, xs:f32[]{{{}}}, xz:u8[]{{{}}})\n%2 = DequantizeLinear(%1, xs, xz)\n"
      "%w = DequantizeLinear(wq:u8[{}]{{{}}}, ws:f32[]{{{}}}, wz:u8[]{{{}}})\n%3 = {}\n%4 = Relu(%3)\n"
      "%5 = QuantizeLinear(%4, ys:f32[]{{{}}}, yz:u8[]{{{}}})\n%6 = DequantizeLinear(%5, ys, yz)\noutput %6\n",
      rows     ? list(shape_of_rows)
      : matrix ? std::format("{},{}", draw.between(1, 3), inputs)
               : std::format("{},{},{},{}", draw.between(1, 2), inputs, draw.between(3, 8), draw.between(3, 8)),
      number(xs), draw.pick({0, 3, 128, 255}), shape, levels, number(ws), zero, node, number(ys),
      draw.pick({0, 7, 128}));
  return made;
}

}  // namespace kinglet::engine::random_cases
