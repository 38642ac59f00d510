// SPDX-License-Identifier: Apache-2.0
// Cases of operators with windows, matrices, means: what adds many numbers.
#include <algorithm>
#include <cmath>

#include "tests/contract/random_lowering/cases.h"

namespace kinglet::engine::random_cases {
namespace {

// Attributes of a window over `sides`, which it fits; empty pads mean auto_pad.
struct Window {
  std::vector<int> kernel, strides, dilations, pads;
  std::string auto_pad;
  [[nodiscard]] int taps() const {
    int count = 1;
    for (const int side : kernel) count *= side;
    return count;
  }
  [[nodiscard]] std::string attributes() const {
    std::string out = std::format("strides=[{}], dilations=[{}]", list(strides), list(dilations));
    return out +
           (auto_pad.empty() ? std::format(", pads=[{}]", list(pads)) : std::format(", auto_pad=\"{}\"", auto_pad));
  }
};

Window any_window(Draw& draw, const std::vector<int>& sides, int most) {
  Window out;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    out.kernel.push_back(draw.between(1, most));
    out.strides.push_back(draw.between(1, 3));
    out.dilations.push_back(draw.one_in(3) ? draw.between(1, 3) : 1);
  }
  if (draw.one_in(5)) out.auto_pad = draw.pick({"SAME_UPPER", "SAME_LOWER", "VALID"});
  for (std::size_t i = 0; i < 2 * sides.size(); ++i) {
    const std::size_t axis = i % sides.size();
    out.pads.push_back(draw.below(std::max(1, (out.kernel[axis] - 1) * out.dilations[axis] + 1)));
  }
  return out;
}

std::vector<int> image(Draw& draw, int channels, int rank) {
  std::vector<int> out{draw.one_in(3) ? draw.between(1, 3) : 1, channels};
  for (int i = 2; i < rank; ++i) out.push_back(draw.between(1, 12));
  return out;
}

int any_rank(Draw& draw) { return draw.one_in(8) ? draw.pick({3, 5}) : 4; }

Case pool(Draw& draw, const char* name, bool average) {
  Case made{.roundings = 0, .infinities = !average && draw.one_in(4)};
  const std::string type = pick_type(draw, made);
  const std::vector<int> x = image(draw, draw.between(1, 20), any_rank(draw));
  const Window window = any_window(draw, {x.begin() + 2, x.end()}, 4);
  std::string attributes =
      std::format("kernel_shape=[{}], {}, ceil_mode={}", list(window.kernel), window.attributes(), draw.below(2));
  if (average) {
    made.sums = true;
    made.roundings = window.taps() + 2;
    attributes += std::format(", count_include_pad={}", draw.below(2));
  }
  made.text = with_neighbours(draw, type, x, std::format("%1 = {}(%x) {{{}}}\n", name, attributes));
  return made;
}
Case global_pool(Draw& draw, const char* name, bool average) {
  Case made{.roundings = 0, .sums = average, .infinities = !average && draw.one_in(4)};
  const std::string type = pick_type(draw, made);
  const std::vector<int> x = image(draw, draw.between(1, 20), draw.one_in(6) ? draw.pick({2, 3, 5}) : 4);
  int pixels = 1;
  for (std::size_t i = 2; i < x.size(); ++i) pixels *= x[i];
  if (average) made.roundings = pixels + 2;
  made.text = with_neighbours(draw, type, x, std::format("%1 = {}(%x)\n", name));
  return made;
}
std::string matrix(int rows, int columns, bool turned) {
  return turned ? std::format("{},{}", columns, rows) : std::format("{},{}", rows, columns);
}

Case reduce(Draw& draw, const char* name) {
  Case made{.sums = true};
  const std::string type = pick_type(draw, made);
  const std::vector<int> x = any_shape(draw, 1, 6);
  const int rank = static_cast<int>(x.size());
  std::vector<int> axes;
  int count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    if (!draw.one_in(2)) continue;
    axes.push_back(draw.one_in(4) ? axis - rank : axis);
    count *= x[static_cast<std::size_t>(axis)];
  }
  if (draw.one_in(3)) std::ranges::reverse(axes);
  const bool all = axes.empty();
  if (all) {
    for (const int side : x) count *= side;
  }
  made.roundings = count + 4;
  const bool keeps = !draw.one_in(2);
  const std::string given = axes.empty() ? "" : std::format(", a:i64[{}]{{{}}}", axes.size(), list(axes));
  made.text = with_neighbours(draw, {.inputs = std::format("%x = input {}[{}]\n", type, list(x)),
                                     .node = std::format("%1 = {}(%x{}) {{keepdims={}, noop_with_empty_axes={}}}\n",
                                                         name, given, int{keeps}, int{draw.one_in(5)}),
                                     .rank = x.size(),
                                     .output_rank = keeps ? x.size() : 0,
                                     .type = type});
  return made;
}

}  // namespace

Case conv(Draw& draw) {
  Case made{.sums = true};
  const std::string type = pick_type(draw, made);
  const int kind = draw.below(4);  // plain, depthwise, groups, depthwise with a large kernel
  const int groups = kind == 0 ? 1 : draw.between(2, 6);
  const int per_group = kind == 0 || kind == 2 ? draw.between(1, 5) : 1;
  const int multiplier = draw.one_in(3) ? draw.between(1, 3) : 1;
  const int outputs = kind == 0 ? draw.between(1, 20) : groups * multiplier;
  const std::vector<int> x = image(draw, groups * per_group, any_rank(draw));
  const Window window = any_window(draw, {x.begin() + 2, x.end()}, kind == 3 ? 9 : 4);
  std::vector<int> w{outputs, per_group};
  w.insert(w.end(), window.kernel.begin(), window.kernel.end());
  const bool biased = draw.one_in(2);
  made.roundings = per_group * window.taps() + 2;
  made.text = with_neighbours(
      draw, type, x,
      std::format("%1 = Conv(%x, w:{}[{}]#w{}) {{group={}, {}}}\n", type, list(w),
                  biased ? std::format(", b:{}[{}]#b", type, outputs) : "", groups, window.attributes()));
  return made;
}

Case max_pool(Draw& draw) { return pool(draw, "MaxPool", false); }
Case average_pool(Draw& draw) { return pool(draw, "AveragePool", true); }

Case global_average_pool(Draw& draw) { return global_pool(draw, "GlobalAveragePool", true); }
Case global_max_pool(Draw& draw) { return global_pool(draw, "GlobalMaxPool", false); }

// Leading axes of both sides broadcast; the second is often constant.
Case matmul(Draw& draw) {
  Case made{.sums = true};
  const std::string type = pick_type(draw, made);
  const int depth = draw.one_in(4) ? draw.between(1, 70) : draw.between(1, 8);
  const std::vector<int> batch = any_shape(draw, 0, draw.one_in(6) ? 4 : 2);
  std::vector<int> a = draw.one_in(3) ? broadcast_part(draw, batch) : batch;
  std::vector<int> b = draw.one_in(2) ? broadcast_part(draw, batch) : batch;
  if (!a.empty() || !draw.one_in(8)) a.push_back(draw.between(1, 7));
  a.push_back(depth);
  b.push_back(depth);
  if (b.size() > 1 || !draw.one_in(8)) b.push_back(draw.between(1, 20));
  made.roundings = depth + 2;
  std::string inputs = std::format("%x = input {}[{}]\n", type, list(a));
  std::string right = std::format("w:{}[{}]#w", type, list(b));
  if (draw.one_in(3)) {
    inputs += std::format("%y = input {}[{}]\n", type, list(b));
    right = "%y";
  }
  made.text = with_neighbours(draw, {.inputs = inputs,
                                     .node = std::format("%1 = MatMul(%x, {})\n", right),
                                     .rank = a.size(),
                                     .output_rank = 0,
                                     .type = type});
  return made;
}

Case gemm(Draw& draw) {
  Case made{.sums = true};
  const std::string type = pick_type(draw, made);
  const int rows = draw.between(1, 6);
  const int depth = draw.between(1, 40);
  const int columns = draw.between(1, 20);
  const bool a_turned = draw.one_in(5);
  const bool b_turned = draw.one_in(2);
  made.roundings = depth + 4;
  std::string c;
  if (draw.one_in(2)) {
    const std::string shape =
        draw.pick({std::format("{}", columns), std::string("1"), std::string(), std::format("1,{}", columns),
                   std::format("{},1", rows), std::format("{},{}", rows, columns)});
    c = std::format(", c:{}[{}]#c", type, shape);
  }
  made.text = with_neighbours(
      draw, {.inputs = std::format("%x = input {}[{}]\n", type, matrix(rows, depth, a_turned)),
             .node = std::format("%1 = Gemm(%x, w:{}[{}]#w{}) {{transA={}, transB={}, alpha={}, beta={}}}\n", type,
                                 matrix(depth, columns, b_turned), c, int{a_turned}, int{b_turned},
                                 number(draw.pick({1.0, 0.5, 3.0, 0.0, -2.0})),
                                 number(draw.pick({1.0, 0.5, 3.0, 0.0, -2.0}))),
             .rank = 2,
             .output_rank = 2,
             .type = type});
  return made;
}

Case squeeze_excite(Draw& draw) {
  Case made;
  const std::vector<int> x = image(draw, draw.between(1, 20), 4);
  const int channels = x[1];
  const int squeezed = draw.between(1, 8);
  // What goes into a gate may be as large as all of the products' numbers, and a gate moves by a part of it.
  made.roundings = x[2] * x[3] + channels + squeezed + 8;
  made.magnitude = 3.0 * squeezed * (3.0 * channels + 1);
  made.text = with_neighbours(
      draw, "f32", x,
      std::format("%1 = kinglet::SqueezeExcite(%x, w1:f32[{0},{1},1,1]#w1, b1:f32[{0}]#b1, w2:f32[{1},{0},1,1]#w2, "
                  "b2:f32[{1}]#b2) {{inner=\"{2}\", gate=\"{3}\"}}\n",
                  squeezed, channels, draw.one_in(2) ? "Relu" : "Silu", draw.one_in(2) ? "Sigmoid" : "Clip"));
  return made;
}

Case linear(Draw& draw) {
  Case made{.sums = true};
  std::vector<int> x = any_shape(draw, 0, 4);
  const int depth = draw.between(1, 40);
  const int columns = draw.one_in(12) ? draw.between(1000, 4200) : draw.between(1, 20);
  x.push_back(depth);
  made.roundings = depth + 2;
  made.text = with_neighbours(
      draw, {.inputs = std::format("%x = input f32[{}]\n", list(x)),
             .node = std::format("%1 = kinglet::Linear(%x, w:f32[{},{}]#w, b:f32[{}]#b)\n", depth, columns, columns),
             .rank = x.size(),
             .output_rank = 0});
  return made;
}

Case batch_normalization(Draw& draw) {
  // scale <= 1, variance >= 0.5: what is multiplied and shifted is at most (|x| + |mean|) / sqrt(0.5) + |shift|.
  Case made{.roundings = 8, .magnitude = 8};
  const std::string type = pick_type(draw, made);
  std::vector<int> x = any_shape(draw, 2, 5);
  const int channels = x[1];
  made.text = with_neighbours(
      draw, type, x,
      std::format("%1 = BatchNormalization(%x, s:{0}[{1}]#s, b:{0}[{1}]#b, m:{0}[{1}]#m, v:{0}[{1}]#+v) "
                  "{{epsilon={2}}}\n",
                  type, channels, number(draw.pick({1e-5, 1e-3, 0.0}))));
  return made;
}

Case layer_normalization(Draw& draw) {
  Case made;
  const std::vector<int> x = any_shape(draw, 1, 5);
  const int rank = static_cast<int>(x.size());
  const int axis = draw.between(0, rank - 1);
  const std::vector<int> normal(x.begin() + axis, x.end());
  const double epsilon = draw.pick({1e-5, 1e-3, 1e-1});
  int count = 1;
  for (const int side : normal) count *= side;
  // A mean of n numbers is off by n roundings of 3; the deviation it is divided by is at least the root of epsilon.
  made.roundings = 2 * count + 8;
  made.magnitude = 3 / std::sqrt(epsilon);
  const std::vector<int> scale = draw.one_in(4) ? broadcast_part(draw, normal) : normal;
  const std::string bias = draw.one_in(3) ? std::format(", b:f32[{}]#b", list(normal)) : "";
  const std::string absent = draw.one_in(6) ? ", _" : "";
  made.text = std::format(
      "%x = input f32[{}]\n%1{} = LayerNormalization(%x, s:f32[{}]#s{}) {{axis={}, epsilon={}}}\n"
      "output %1\n",
      list(x), absent, list(scale), bias, draw.one_in(2) ? axis : axis - rank, number(epsilon));
  return made;
}

Case lrn(Draw& draw) {
  const int size = draw.between(1, 7);
  const double alpha = draw.pick({0.3, 1e-4, 3.0});
  Case made{.roundings = size + 12.0};
  const std::vector<int> x = image(draw, draw.between(1, 20), any_rank(draw));
  made.text = with_neighbours(draw, "f32", x,
                              std::format("%1 = LRN(%x) {{size={}, alpha={}, beta={}, bias={}}}\n", size, number(alpha),
                                          number(draw.pick({0.75, 0.5, 1.0, 0.6})), number(draw.pick({1.0, 2.0}))));
  return made;
}

Case softmax(Draw& draw) {
  const std::vector<int> x = any_shape(draw, 1, 6);
  const int rank = static_cast<int>(x.size());
  const int axis = draw.between(0, rank - 1);
  Case made{.roundings = 12.0 + x[static_cast<std::size_t>(axis)], .scale = draw.pick({3.0, 30.0, 1000.0})};
  // exp(x - top) turns a rounding of x into as much of the result.
  made.roundings += 2 * made.scale;
  const std::string type = pick_type(draw, made);
  made.text = with_neighbours(draw, type, x,
                              std::format("%1 = Softmax(%x) {{axis={}}}\n", draw.one_in(2) ? axis - rank : axis));
  return made;
}

// Numbers that are copied, of any type.
Case resize_nearest(Draw& draw, const std::vector<int>& x, const std::string& wanted) {
  Case made{.roundings = 0};
  const std::string node = std::format(
      "%1 = Resize(%x, _, {}) {{mode=\"nearest\", coordinate_transformation_mode=\"{}\", nearest_mode=\"{}\"}}\n",
      wanted, draw.pick({"asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners", "half_pixel_symmetric"}),
      draw.pick({"floor", "round_prefer_floor", "round_prefer_ceil", "ceil"}));
  const char* type = draw.pick({"f32", "u8", "i8"});
  const std::string input = std::format("%x = input {}[{}]\n", type, list(x));
  if (std::string_view(type) == "f32") {
    made.text = with_neighbours(draw, {.inputs = input, .node = node, .rank = 4, .output_rank = 4});
  } else {
    made.text = std::format("{}{}%2 = DequantizeLinear(%1, step:f32[]{{0.25}}, zero:{}[]{{5}})\noutput %2\n", input,
                            node, type);
  }
  return made;
}

Case resize(Draw& draw) {
  const std::vector<int> x = image(draw, draw.between(1, 9), 4);
  const int height = draw.between(1, 24);
  const int width = draw.between(1, 24);
  // A place is off by some units of 24 pixels, and neighbours differ by at most 6.
  Case made{.roundings = 100, .magnitude = 6};
  const char* coordinates = draw.pick({"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
                                       "half_pixel_symmetric", "tf_crop_and_resize"});
  const char* mode = draw.one_in(6) ? "cubic" : "linear";
  std::string wanted = std::format("_, t:i64[4]{{{},{},{},{}}}", x[0], x[1], height, width);
  if (draw.one_in(2)) {
    wanted = std::format("s:f32[4]{{1,1,{},{}}}", number(draw.pick({2.0, 0.5, 3.0, 1.5, 1.0, 0.7})),
                         number(draw.pick({2.0, 0.5, 3.0, 1.5, 1.0, 0.7})));
  }
  if (draw.one_in(2)) return resize_nearest(draw, x, wanted);
  const std::string roi =
      std::string_view(coordinates) == "tf_crop_and_resize" ? "r:f32[8]{0,0,0.25,0.125,1,1,0.75,1}" : "_";
  made.text = with_neighbours(
      draw, {.inputs = std::format("%x = input f32[{}]\n", list(x)),
             .node = std::format("%1 = Resize(%x, {}, {}) {{mode=\"{}\", coordinate_transformation_mode=\"{}\"}}\n",
                                 roi, wanted, mode, coordinates),
             .rank = 4,
             .output_rank = 4});
  return made;
}

Case reduce_mean(Draw& draw) { return reduce(draw, "ReduceMean"); }
Case reduce_sum(Draw& draw) { return reduce(draw, "ReduceSum"); }
Case reduce_l2(Draw& draw) { return reduce(draw, "ReduceL2"); }
Case reduce_sum_square(Draw& draw) { return reduce(draw, "ReduceSumSquare"); }

}  // namespace kinglet::engine::random_cases
