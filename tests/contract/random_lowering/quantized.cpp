// SPDX-License-Identifier: Apache-2.0
// Cases of operators on 8-bit levels: as the passes write them, and as files do.
#include <algorithm>
#include <cmath>

#include "tests/contract/random_lowering/cases.h"

namespace kinglet::engine::random_cases {
namespace {

// A scale and a zero point: constants NAMEs and NAMEz.
struct Scaled {
  std::string name;
  std::string type = "i8";
  double scale = 1;
  int zero = 0;
  // "as:f32[]{0.5}, az:i8[]{3}"
  [[nodiscard]] std::string text() const {
    return std::format("{0}s:f32[]{{{1}}}, {0}z:{2}[]{{{3}}}", name, number(scale), type, zero);
  }
};

int any_zero(Draw& draw, const std::string& type) {
  const int offset = type == "i8" ? 0 : 128;
  return draw.one_in(4) ? draw.pick({-128, 127}) + offset : draw.pick({0, 5, -20, 100, -100}) + offset;
}

Scaled any_levels(Draw& draw, const char* name, const std::string& type, int low, int high) {
  Scaled out{.name = name, .type = type};
  out.scale = draw.power(low, high);
  out.zero = any_zero(draw, type);
  return out;
}

std::string any_byte(Draw& draw) { return draw.one_in(3) ? "u8" : "i8"; }

// Weights with their scales and zero points, around 0 but for u8.
struct Weights {
  std::string text;
  double largest_scale = 0;
};

Weights any_weights(Draw& draw, const std::string& type, const std::string& shape, int channels, bool zero_points) {
  const bool each = type == "i8" && draw.one_in(2);
  const double scale = draw.power(-12, 0);
  Weights out;
  std::string scales;
  std::string zeros;
  for (int i = 0; i < (each ? channels : 1); ++i) {
    const double own = each ? scale * (1 + draw.below(8) / 4.0) : scale;
    out.largest_scale = std::max(out.largest_scale, own);
    scales += (i > 0 ? "," : "") + number(own);
    zeros += i > 0 ? ",0" : "0";
  }
  const std::string count = each ? std::format("[{}]", channels) : "[]";
  if (type == "u8") zeros = std::format("{}", draw.pick({128, 0, 140, 255}));
  out.text = std::format("w:{}[{}]#w, ws:f32{}{{{}}}", type, shape, count, scales);
  if (zero_points) out.text += std::format(", wz:{}{}{{{}}}", type, count, zeros);
  return out;
}

// A scale that results may well have: most lie within its 256 levels, now and then few or hardly any do.
Scaled result_levels(Draw& draw, const std::string& type, double typical) {
  Scaled out{.name = "y", .type = type};
  const int away = draw.one_in(6) ? draw.between(-12, 12) : draw.between(0, 2) - 1;
  out.scale = std::ldexp(typical * (1 + draw.below(16) / 16.0), away);
  out.zero = any_zero(draw, type);
  return out;
}

// One level of the result may be the next one: where a number lies half way between two, and where XNNPACK's factors
// have 8 bits behind the point (at most 255 * 2^-9 of a level).
Case of_levels(const Scaled& y) { return {.roundings = 2, .magnitude = 256 * y.scale, .step = 1.0001 * y.scale}; }

std::string bounds_of(Draw& draw, const Scaled& y) {
  switch (draw.below(4)) {
    case 1:
      return ", kinglet_min=0.0";
    case 2:
      return std::format(", kinglet_min=0.0, kinglet_max={}", number(60 * y.scale));
    case 3:
      return std::format(", kinglet_min={}, kinglet_max={}", number(-30.3 * y.scale), number(20.7 * y.scale));
    default:
      return "";
  }
}

const char* kBack = "%2 = DequantizeLinear(%1, ys, yz)\noutput %2\n";

// Rows get a scale each at every run; evaluate takes the file's or one for all of them. Both round each number of a row
// by up to half a level, of which a row has 255 over its range.
Case rows_times_weights(Draw& draw, bool of_floats) {
  const int depth = draw.between(1, 40);
  const int columns = draw.between(1, 20);
  const Weights w = any_weights(draw, "i8", std::format("{},{}", depth, columns), columns, of_floats);
  const std::string bias = draw.one_in(2) ? std::format("b:f32[{}]#b", columns) : "_";
  std::vector<int> shape = any_shape(draw, 1, 2);
  shape.push_back(depth);
  Case made{.roundings = depth + 8.0};
  if (of_floats) {
    const double level = 2 * made.scale / 255;
    made.magnitude = depth * 128 * w.largest_scale * made.scale;
    made.step = depth * 128 * w.largest_scale * level * 1.05;
    made.text = std::format("%x = input f32[{}]\n%1 = com.microsoft::DynamicQuantizeMatMul(%x, {}, {})\noutput %1\n",
                            list(shape), w.text, bias);
    return made;
  }
  const Scaled x = any_levels(draw, "x", "i8", -9, 3);
  made.magnitude = depth * 128.0 * 255 * w.largest_scale * x.scale;
  made.step = depth * 128 * w.largest_scale * x.scale * 0.55;
  made.text = std::format(
      "%f = input f32[{}]\n%x = QuantizeLinear(%f, {})\n%1 = com.microsoft::MatMulIntegerToFloat(%x, w:i8[{},{}]#w, "
      "xs, {}, xz, _, {}) {{kinglet_integers=1}}\noutput %1\n",
      list(shape), x.text(), depth, columns, w.text.substr(w.text.find("ws:")), bias);
  made.step += depth * 128 * w.largest_scale * x.scale;  // the first rounds half way between two levels as it likes
  made.scale = 60 * x.scale;
  return made;
}
Case arithmetic(Draw& draw, const char* name, bool product) {
  const std::string type = any_byte(draw);
  const std::vector<int> shape = any_shape(draw, 0, 5);
  const std::vector<int> left = draw.one_in(4) ? broadcast_part(draw, shape) : shape;
  const std::vector<int> right = draw.one_in(3) ? broadcast_part(draw, shape) : shape;
  const Scaled a = any_levels(draw, "a", type, -9, 3);
  Scaled b = any_levels(draw, "b", type, -9, 3);
  const bool same = draw.one_in(8) && left == right;
  if (same) b = a;
  const Scaled y = result_levels(draw, type, product ? a.scale * b.scale * 60 : 1.5 * std::max(a.scale, b.scale));
  Case made = of_levels(y);
  const std::string inputs = std::format("%x = input {}[{}]\n", type, list(left)) +
                             (same ? std::string() : std::format("%y = input {}[{}]\n", type, list(right)));
  made.text = std::format("{}%1 = com.microsoft::{}(%x, {}, {}, {}, {}) {{kinglet_integers=1}}\n{}", inputs, name,
                          a.text(), same ? "%x" : "%y", same ? "as, az" : b.text(), y.text(), kBack);
  return made;
}
Case table(Draw& draw, const char* name, const std::string& attributes, double typical) {
  const std::string type = any_byte(draw);
  const Scaled x = any_levels(draw, "x", type, -10, 4);
  const Scaled y = result_levels(draw, type, typical > 0 ? typical : x.scale);
  Case made = of_levels(y);
  made.text = std::format("%x = input {}[{}]\n%1 = {}(%x, {}, {}) {{kinglet_integers=1{}}}\n{}", type,
                          list(any_shape(draw, 0, 5)), name, x.text(), y.text(), attributes, kBack);
  return made;
}
// Less than the window on each side.
std::string any_pads(Draw& draw, int height, int width) {
  std::vector<int> pads;
  for (int i = 0; i < 4; ++i) pads.push_back(draw.below(i % 2 == 0 ? height : width));
  return list(pads);
}
std::string image(Draw& draw, int channels, int least_height, int least_width) {
  return std::format("{},{},{},{}", draw.between(1, 2), channels, least_height + draw.between(0, 8),
                     least_width + draw.between(0, 8));
}

}  // namespace

Case qlinear_conv(Draw& draw) {
  const std::string type = any_byte(draw);
  const int kind = draw.below(3);
  const int groups = kind == 0 ? 1 : draw.between(2, 40);
  const int per_group = kind == 0 ? draw.between(1, 20) : kind == 2 && groups < 6 ? draw.between(1, 4) : 1;
  const int outputs = kind == 0 ? draw.pick({4, 16, 32, 1, 7, 20}) : groups * (draw.one_in(4) ? 2 : 1);
  const int height = draw.between(1, 4);
  const int width = draw.between(1, 4);
  const Scaled x = any_levels(draw, "x", type, -9, 3);
  const Weights w =
      any_weights(draw, type, std::format("{},{},{},{}", outputs, per_group, height, width), outputs, true);
  const int taps = per_group * height * width;
  const Scaled y = result_levels(draw, type, x.scale * w.largest_scale * 60 * std::sqrt(static_cast<double>(taps)));
  const std::string bias = draw.one_in(2) ? std::format(", b:i32[{}]#b", outputs) : "";
  Case made = of_levels(y);
  const std::string pads = any_pads(draw, height, width);
  made.text = std::format(
      "%x = input {}[{},{},{},{}]\n%1 = QLinearConv(%x, {}, {}, {}{}) {{kinglet_integers=1{}, group={}, pads=[{}], "
      "strides=[{},{}], dilations=[{},{}]}}\n{}",
      type, draw.between(1, 2), groups * per_group, height + draw.between(0, 8), width + draw.between(0, 8), x.text(),
      w.text, y.text(), bias, bounds_of(draw, y), groups, pads, draw.between(1, 2), draw.between(1, 2),
      draw.one_in(4) ? 2 : 1, draw.one_in(4) ? 2 : 1, kBack);
  return made;
}

// Behind a layer of two channels or more, some of which are named.
Case wide_channels(Draw& draw) {
  const int groups = draw.one_in(2) ? 1 : draw.between(2, 20);
  const int per_group = draw.one_in(2) ? 1 : draw.between(2, 40);
  const int outputs = groups * draw.between(2, 4);
  const int height = draw.between(1, 3);
  const int width = draw.between(1, 3);
  std::vector<int> channels;
  for (int i = draw.below(2); i < outputs; i += draw.between(1, 9)) channels.push_back(i);
  const std::string pads = any_pads(draw, height, width);
  const std::vector<int> strides{draw.between(1, 2), draw.between(1, 2)};
  const int rows = draw.between(1, 8);
  const int columns = draw.between(1, 8);
  const Scaled x = any_levels(draw, "x", "i8", -9, 3);
  const double ws = draw.power(-12, 0);
  const Scaled y =
      result_levels(draw, "i8", x.scale * ws * 60 * std::sqrt(static_cast<double>(per_group * height * width)));
  const std::string window = std::format("pads=[{}], strides=[{}]", pads, list(strides));
  const std::string bias = draw.one_in(2) ? std::format(", b:i32[{}]#b", channels.size()) : "";
  const std::string bounds = bounds_of(draw, y);
  Case made = of_levels(y);
  made.text = std::format(
      "%x = input i8[{0},{1},{2},{3}]\n%0 = QLinearConv(%x, {4}, v:i8[{5},{6},{7},{8}]#v, ws:f32[]{{{9}}}, "
      "vz:i8[]{{0}}, {10}) {{kinglet_integers=1, group={11}, {12}{13}}}\n%1 = kinglet::WideChannels(%0, "
      "c:i64[{14}]{{{15}}}, %x, xs, xz, w:u8[{14},{6},{7},{8}]#w, ws, wz:u8[]{{{16}}}, ys, yz{17}) "
      "{{kinglet_integers=1, group={11}, {12}{13}}}\n{18}",
      draw.between(1, 2), groups * per_group, (rows - 1) * strides[0] + height, (columns - 1) * strides[1] + width,
      x.text(), outputs, per_group, height, width, number(ws), y.text(), groups, window, bounds, channels.size(),
      list(channels), draw.pick({128, 0, 140, 255}), bias, kBack);
  return made;
}

Case qlinear_matmul(Draw& draw) {
  const std::string type = any_byte(draw);
  const int depth = draw.between(1, 70);
  const int columns = draw.between(1, 20);
  const Scaled x = any_levels(draw, "x", type, -9, 3);
  const Weights w = any_weights(draw, type, std::format("{},{}", depth, columns), columns, true);
  const Scaled y = result_levels(draw, type, x.scale * w.largest_scale * 60 * std::sqrt(static_cast<double>(depth)));
  Case made = of_levels(y);
  std::vector<int> shape = any_shape(draw, 1, 2);
  shape.push_back(depth);
  made.text = std::format("%x = input {}[{}]\n%1 = QLinearMatMul(%x, {}, {}, {}) {{kinglet_integers=1{}}}\n{}", type,
                          list(shape), x.text(), w.text, y.text(), bounds_of(draw, y), kBack);
  return made;
}

Case qgemm(Draw& draw) {
  const std::string type = any_byte(draw);
  const int depth = draw.between(1, 70);
  const int columns = draw.between(1, 20);
  const bool turned = draw.one_in(2);
  const Scaled x = any_levels(draw, "x", type, -9, 3);
  const Weights w = any_weights(
      draw, type, turned ? std::format("{},{}", columns, depth) : std::format("{},{}", depth, columns), columns, true);
  const Scaled y = result_levels(draw, type, x.scale * w.largest_scale * 60 * std::sqrt(static_cast<double>(depth)));
  Case made = of_levels(y);
  made.text = std::format(
      "%x = input {}[{},{}]\n%1 = com.microsoft::QGemm(%x, {}, {}, {}, {}) {{kinglet_integers=1{}, transB={}}}\n{}",
      type, draw.between(1, 5), depth, x.text(), w.text, draw.one_in(2) ? std::format("b:i32[{}]#b", columns) : "_",
      y.text(), bounds_of(draw, y), int{turned}, kBack);
  return made;
}

Case dynamic_quantize_matmul(Draw& draw) { return rows_times_weights(draw, true); }
Case matmul_integer_to_float(Draw& draw) { return rows_times_weights(draw, false); }

Case qlinear_add(Draw& draw) { return arithmetic(draw, "QLinearAdd", false); }
Case qlinear_mul(Draw& draw) { return arithmetic(draw, "QLinearMul", true); }

Case qlinear_sigmoid(Draw& draw) { return table(draw, "com.microsoft::QLinearSigmoid", "", 1.0 / 256); }
Case qlinear_tanh(Draw& draw) { return table(draw, "kinglet::QLinearTanh", "", 1.0 / 128); }
Case qlinear_hard_swish(Draw& draw) { return table(draw, "kinglet::QLinearHardSwish", "", 0); }
Case qlinear_mish(Draw& draw) { return table(draw, "kinglet::QLinearMish", "", 0); }
Case qlinear_celu(Draw& draw) {
  const double alpha = draw.pick({1.0, 0.7, 2.5, 0.001, 100.0});
  return table(draw, "kinglet::QLinearCelu", std::format(", alpha={}", number(alpha)), 0);
}
Case qlinear_leaky_relu(Draw& draw) {
  const double alpha = draw.pick({0.01, 0.2, 0.001, 0.0, -0.5, 3.0, 1.0, -120.0, 200.0});
  return table(draw, "com.microsoft::QLinearLeakyRelu", std::format(", alpha={}", number(alpha)), 0);
}

Case qlinear_average_pool(Draw& draw) {
  const std::string type = any_byte(draw);
  const int height = draw.between(1, 4);
  const int width = draw.between(1, 4);
  const Scaled x = any_levels(draw, "x", type, -9, 3);
  const Scaled y = result_levels(draw, type, x.scale);
  Case made = of_levels(y);
  // Only windows that all count as many pixels are marked to run in integers.
  const std::string pads = any_pads(draw, height, width);
  made.text = std::format(
      "%x = input {}[{}]\n%1 = com.microsoft::QLinearAveragePool(%x, {}, {}) {{kinglet_integers=1, "
      "count_include_pad=1, kernel_shape=[{},{}], pads=[{}], strides=[{},{}]}}\n{}",
      type, image(draw, draw.between(1, 20), height, width), x.text(), y.text(), height, width, pads,
      draw.between(1, 3), draw.between(1, 3), kBack);
  return made;
}

Case qlinear_global_average_pool(Draw& draw) {
  const std::string type = any_byte(draw);
  const Scaled x = any_levels(draw, "x", type, -9, 3);
  const Scaled y = result_levels(draw, type, x.scale);
  Case made = of_levels(y);
  made.text = std::format(
      "%x = input {}[{}]\n%1 = com.microsoft::QLinearGlobalAveragePool(%x, {}, {}) {{kinglet_integers=1}}\n{}", type,
      image(draw, draw.between(1, 20), 1, 1), x.text(), y.text(), kBack);
  return made;
}

Case qlinear_concat(Draw& draw) {
  const std::string type = any_byte(draw);
  const std::vector<int> shape = any_shape(draw, 1, 5);
  const int axis = draw.below(static_cast<int>(shape.size()));
  const Scaled a = any_levels(draw, "a", type, -6, 3);
  const Scaled y = draw.one_in(3) ? Scaled{"y", type, a.scale, a.zero} : result_levels(draw, type, a.scale);
  Case made = of_levels(y);
  std::string inputs = std::format("%x = input {}[{}]\n", type, list(shape));
  std::string parts = "%x, " + a.text();
  for (int i = draw.between(0, draw.one_in(5) ? 7 : 2); i > 0; --i) {
    std::vector<int> other = shape;
    other[static_cast<std::size_t>(axis)] = draw.between(1, 4);
    const std::string name = std::format("b{}", i);
    Scaled b = any_levels(draw, name.c_str(), type, -6, 3);
    if (draw.one_in(2)) b = {name, type, y.scale, y.zero};
    inputs += std::format("%y{} = input {}[{}]\n", i, type, list(other));
    parts += std::format(", %y{}, {}", i, b.text());
  }
  made.text = std::format("{}%1 = com.microsoft::QLinearConcat({}, {}) {{kinglet_integers=1, axis={}}}\n{}", inputs,
                          y.text(), parts, axis, kBack);
  return made;
}

Case quantize_linear(Draw& draw) {
  const std::string type = any_byte(draw);
  const Scaled y = any_levels(draw, "y", type, -10, 4);
  Case made = of_levels(y);
  made.scale = draw.pick({100.0, 1.0, 1000.0}) * y.scale;
  const std::vector<int> shape = any_shape(draw, 0, 5);
  made.text = std::format("%x = input f32[{}]\n%1 = QuantizeLinear(%x, {})\n{}", list(shape), y.text(), kBack);
  return made;
}

Case dequantize_linear(Draw& draw) {
  Case made{.roundings = 1};
  const std::string type = draw.pick({"i8", "u8", "i32"});
  const std::vector<int> shape = any_shape(draw, 0, 5);
  if (!shape.empty() && draw.one_in(4)) {
    const int axis = draw.below(static_cast<int>(shape.size()));
    const int count = shape[static_cast<std::size_t>(axis)];
    made.text = std::format("%x = input {0}[{1}]\n%1 = DequantizeLinear(%x, s:f32[{2}]#+s) {{axis={3}}}\noutput %1\n",
                            type, list(shape), count, axis);
    return made;
  }
  const Scaled x = any_levels(draw, "x", type == "u8" ? "u8" : "i8", -10, 4);
  made.text = std::format("%x = input {}[{}]\n%1 = DequantizeLinear(%x, {})\noutput %1\n", type, list(shape),
                          type == "i32" ? std::format("xs:f32[]{{{}}}", number(x.scale)) : x.text());
  return made;
}

}  // namespace kinglet::engine::random_cases
