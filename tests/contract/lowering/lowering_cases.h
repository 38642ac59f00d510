// SPDX-License-Identifier: Apache-2.0
// Why: one small graph for every form an operator's `lower` takes; the contract runs each with the lowering and
// without. Graphs are in the text form of tests/support/graph_text.h; every node of a case runs in XNNPACK.
#pragma once

#include <string_view>

namespace kinglet::engine {

struct LoweringCase {
  std::string_view op_type;  // the operator that is switched off
  std::string_view name;
  std::string_view text;
  bool positive = false;  // inputs above 0 (logarithm, root)
};

inline constexpr LoweringCase kLoweringCases[] = {
    // activation.cpp
    {"Relu", "image", "%x = input f32[1,5,4,6]\n%1 = Relu(%x)\noutput %1"},
    {"LeakyRelu", "alpha", "%x = input f32[2,7]\n%1 = LeakyRelu(%x) {alpha=0.2}\noutput %1"},
    {"Elu", "alpha", "%x = input f32[2,7]\n%1 = Elu(%x) {alpha=0.7}\noutput %1"},
    {"Sigmoid", "image", "%x = input f32[1,5,4,6]\n%1 = Sigmoid(%x)\noutput %1"},
    {"HardSigmoid", "defaults", "%x = input f32[1,5,4,6]\n%1 = HardSigmoid(%x)\noutput %1"},
    {"HardSigmoid", "slope", "%x = input f32[40]\n%1 = HardSigmoid(%x) {alpha=1.5, beta=0.25}\noutput %1"},
    {"HardSwish", "image", "%x = input f32[1,5,4,6]\n%1 = HardSwish(%x)\noutput %1"},
    {"Tanh", "image", "%x = input f32[1,5,4,6]\n%1 = Tanh(%x)\noutput %1"},
    {"Celu", "default", "%x = input f32[1,5,4,6]\n%1 = Celu(%x)\noutput %1"},
    {"Celu", "alpha", "%x = input f32[2,7]\n%1 = Celu(%x) {alpha=0.7}\noutput %1"},
    {"Mish", "image", "%x = input f32[1,5,4,6]\n%1 = Mish(%x)\noutput %1"},
    {"Gelu", "exact", "%x = input f32[3,17]\n%1 = Gelu(%x)\noutput %1"},
    {"Clip", "both", "%x = input f32[3,17]\n%1 = Clip(%x, a:f32[]{-0.25}, b:f32[]{0.5})\noutput %1"},
    {"Clip", "max_only", "%x = input f32[3,17]\n%1 = Clip(%x, _, b:f32[]{0.5})\noutput %1"},
    {"PRelu", "slope_a_channel", "%x = input f32[1,5,4,6]\n%1 = PRelu(%x, s:f32[5,1,1]#s)\noutput %1"},

    // binary.cpp
    {"Add", "two_images", "%x = input f32[1,5,4,6]\n%y = input f32[1,5,4,6]\n%1 = Add(%x, %y)\noutput %1"},
    {"Add", "number_a_channel", "%x = input f32[1,5,4,6]\n%1 = Add(%x, c:f32[5,1,1]#c)\noutput %1"},
    {"Add", "row", "%x = input f32[2,3]\n%y = input f32[3]\n%1 = Add(%x, %y)\noutput %1"},
    {"Sub", "both_broadcast", "%x = input f32[1,5,1,6]\n%y = input f32[1,1,4,6]\n%1 = Sub(%x, %y)\noutput %1"},
    {"Mul", "squeeze_and_excite", "%x = input f32[1,5,4,6]\n%y = input f32[1,5,1,1]\n%1 = Mul(%x, %y)\noutput %1"},
    {"Div", "scalar", "%x = input f32[1,5,4,6]\n%1 = Div(%x, c:f32[]{3})\noutput %1"},
    {"Min", "three", "%x = input f32[2,9]\n%y = input f32[2,9]\n%1 = Min(%x, %y, c:f32[]{0.1})\noutput %1"},
    {"Max", "three", "%x = input f32[2,9]\n%y = input f32[2,9]\n%1 = Max(%x, %y, c:f32[]{0.1})\noutput %1"},
    {"Sum", "three", "%x = input f32[2,9]\n%y = input f32[2,1]\n%1 = Sum(%x, %y, %x)\noutput %1"},
    {"Sum", "one", "%x = input f32[2,9]\n%1 = Sum(%x)\noutput %1"},
    {"Mean", "two", "%x = input f32[2,9]\n%y = input f32[2,9]\n%1 = Mean(%x, %y)\noutput %1"},
    {"Pow", "square", "%x = input f32[2,9]\n%1 = Pow(%x, c:f32[]{2})\noutput %1"},

    // unary.cpp
    {"Abs", "row", "%x = input f32[33]\n%1 = Abs(%x)\noutput %1"},
    {"Neg", "row", "%x = input f32[33]\n%1 = Neg(%x)\noutput %1"},
    {"Reciprocal", "row", "%x = input f32[33]\n%1 = Reciprocal(%x)\noutput %1", true},
    {"Sqrt", "row", "%x = input f32[33]\n%1 = Sqrt(%x)\noutput %1", true},
    {"Exp", "row", "%x = input f32[33]\n%1 = Exp(%x)\noutput %1"},
    {"Log", "row", "%x = input f32[33]\n%1 = Log(%x)\noutput %1", true},
    {"Floor", "row", "%x = input f32[33]\n%1 = Floor(%x)\noutput %1"},
    {"Ceil", "row", "%x = input f32[33]\n%1 = Ceil(%x)\noutput %1"},
    {"Round", "row", "%x = input f32[33]\n%1 = Round(%x)\noutput %1"},

    // fused.cpp
    {"Silu", "image", "%x = input f32[1,5,4,6]\n%1 = kinglet::Silu(%x)\noutput %1"},
    {"Silu", "row", "%x = input f32[33]\n%1 = kinglet::Silu(%x)\noutput %1"},
    {"ChannelShuffle", "image", "%x = input f32[2,6,4,5]\n%1 = kinglet::ChannelShuffle(%x) {groups=2}\noutput %1"},
    {"ChannelShuffle", "behind_a_convolution",
     "%x = input f32[1,3,4,5]\n%1 = Conv(%x, w:f32[6,3,1,1]#w)\n%2 = kinglet::ChannelShuffle(%1) {groups=3}\n%3 = "
     "MaxPool(%2) {kernel_shape=[2,2]}\noutput %3"},

    // squeeze_excite.cpp
    {"SqueezeExcite", "of_relu_and_sigmoid",
     "%x = input f32[2,6,4,5]\n%1 = kinglet::SqueezeExcite(%x, w:f32[3,6,1,1]#w, b:f32[3]#b, v:f32[6,3,1,1]#v, "
     "c:f32[6]#c) {gate=\"Sigmoid\", inner=\"Relu\"}\noutput %1"},
    {"SqueezeExcite", "of_silu_and_clip",
     "%x = input f32[1,9,7,3]\n%1 = kinglet::SqueezeExcite(%x, w:f32[2,9,1,1]#w, b:f32[2]#b, v:f32[9,2,1,1]#v, "
     "c:f32[9]#c) {gate=\"Clip\", inner=\"Silu\"}\noutput %1"},

    // conv.cpp
    {"Conv", "three_by_three",
     "%x = input f32[1,3,9,11]\n%1 = Conv(%x, w:f32[8,3,3,3]#w, b:f32[8]#b) {pads=[1,1,1,1]}\noutput %1"},
    {"Conv", "bottom_and_right_padding",
     "%x = input f32[1,3,8,8]\n%1 = Conv(%x, w:f32[8,3,3,3]#w) {pads=[0,0,1,1], strides=[2,2]}\noutput %1"},
    {"Conv", "one_by_one_with_stride",
     "%x = input f32[2,6,7,7]\n%1 = Conv(%x, w:f32[4,6,1,1]#w, b:f32[4]#b) {strides=[2,2]}\noutput %1"},
    {"Conv", "groups",
     "%x = input f32[1,6,7,7]\n%1 = Conv(%x, w:f32[4,3,3,3]#w) {group=2, dilations=[2,1]}\noutput %1"},
    {"Conv", "depthwise",
     "%x = input f32[1,6,7,7]\n%1 = Conv(%x, w:f32[6,1,3,3]#w, b:f32[6]#b) {group=6, pads=[1,1,1,1], "
     "strides=[2,2]}\noutput %1"},
    {"Conv", "depthwise_with_multiplier",
     "%x = input f32[1,3,7,7]\n%1 = Conv(%x, w:f32[6,1,3,3]#w) {group=3}\noutput %1"},
    // lower_convolution.cpp, more than 25 taps
    {"Conv", "depthwise_seven_by_seven",
     "%x = input f32[2,6,9,8]\n%1 = Conv(%x, w:f32[6,1,7,7]#w, b:f32[6]#b) {group=6, pads=[3,3,3,3]}\noutput %1"},
    {"Conv", "depthwise_seven_by_seven_clipped",
     "%x = input f32[1,6,9,8]\n%1 = Conv(%x, w:f32[6,1,7,7]#w, b:f32[6]#b) {group=6, pads=[3,3,3,3]}\n%2 = "
     "Relu(%1)\noutput %2"},
    {"Conv", "depthwise_eleven_by_five_with_strides",
     "%x = input f32[1,3,23,12]\n%1 = Conv(%x, w:f32[6,1,11,5]#w) {group=3, pads=[1,2,4,0], "
     "strides=[2,3]}\noutput %1"},
    {"Conv", "depthwise_six_by_six_dilated_without_padding",
     "%x = input f32[1,4,16,17]\n%1 = Conv(%x, w:f32[4,1,6,6]#w, b:f32[4]#b) {group=4, dilations=[3,2]}\noutput %1"},
    {"Conv", "depthwise_kernel_larger_than_the_picture",
     "%x = input f32[1,4,2,3]\n%1 = Conv(%x, w:f32[4,1,9,9]#w, b:f32[4]#b) {group=4, pads=[4,4,4,4]}\noutput %1"},
    {"Conv", "depthwise_rows_of_more_than_twenty_five_taps",
     "%x = input f32[1,4,3,30]\n%1 = Conv(%x, w:f32[4,1,1,27]#w, b:f32[4]#b) {group=4, pads=[0,13,0,13]}\noutput %1"},
    {"Conv", "auto_pad",
     "%x = input f32[1,3,7,8]\n%1 = Conv(%x, w:f32[2,3,3,3]#w) {auto_pad=\"SAME_UPPER\", strides=[2,2]}\noutput %1"},

    // column_blocks.cpp
    {"Conv", "in_blocks_of_channels",
     "%x = input f32[1,32,4,4]\n%1 = Conv(%x, w:f32[1000,32,3,3]#w, b:f32[1000]#b) {pads=[1,1,1,1]}\n%2 = "
     "Relu(%1)\noutput %2"},
    {"Conv", "in_blocks_joined_in_groups",
     "%x = input f32[1,32,4,4]\n%1 = Conv(%x, w:f32[2801,32,3,3]#w, b:f32[2801]#b) {pads=[1,1,1,1]}\noutput %1"},
    {"MatMul", "in_blocks_of_columns", "%x = input f32[2,9,64]\n%1 = MatMul(%x, w:f32[64,4102]#w)\noutput %1"},
    {"Linear", "in_blocks_of_columns",
     "%x = input f32[16,64]\n%1 = kinglet::Linear(%x, w:f32[64,4099]#w, b:f32[4099]#b)\noutput %1"},

    // linear.cpp
    {"Gemm", "transposed_weights",
     "%x = input f32[2,7]\n%1 = Gemm(%x, w:f32[5,7]#w, b:f32[5]#b) {transB=1}\noutput %1"},
    {"Gemm", "alpha_and_beta",
     "%x = input f32[2,7]\n%1 = Gemm(%x, w:f32[7,5]#w, b:f32[1]{0.5}) {alpha=0.5, beta=2.0}\noutput %1"},
    {"Linear", "three_axes", "%x = input f32[2,3,7]\n%1 = kinglet::Linear(%x, w:f32[7,5]#w, b:f32[5]#b)\noutput %1"},
    {"MatMul", "constant_matrix", "%x = input f32[2,3,7]\n%1 = MatMul(%x, w:f32[7,5]#w)\noutput %1"},
    {"MatMul", "two_computed", "%x = input f32[2,3,7]\n%y = input f32[2,7,4]\n%1 = MatMul(%x, %y)\noutput %1"},
    {"MatMul", "constant_matrix_of_more_dimensions",
     "%x = input f32[2,3,7]\n%1 = MatMul(%x, w:f32[1,7,5]#w)\noutput %1"},
    {"MatMul", "constant_matrices", "%x = input f32[2,3,7]\n%1 = MatMul(%x, w:f32[2,7,5]#w)\noutput %1"},
    {"MatMul", "rows_of_all_heads_against_one",
     "%x = input f32[2,4,3,7]\n%y = input f32[7,5]\n%1 = MatMul(%x, %y)\noutput %1"},
    {"MatMul", "one_matrix_against_a_batch",
     "%x = input f32[3,7]\n%y = input f32[4,7,5]\n%1 = MatMul(%x, %y)\noutput %1"},
    {"MatMul", "batches_broadcast", "%x = input f32[2,1,3,7]\n%y = input f32[4,7,5]\n%1 = MatMul(%x, %y)\noutput %1"},
    {"MatMul", "two_matrices", "%x = input f32[3,7]\n%y = input f32[7,5]\n%1 = MatMul(%x, %y)\noutput %1"},

    // normalization.cpp
    {"LayerNormalization", "last_axis",
     "%x = input f32[2,3,20]\n%1 = LayerNormalization(%x, s:f32[20]#s, b:f32[20]#b)\noutput %1"},
    {"LayerNormalization", "two_axes_without_bias",
     "%x = input f32[2,3,20]\n%1 = LayerNormalization(%x, s:f32[3,20]#s) {axis=1, epsilon=0.01}\noutput %1"},
    {"LayerNormalization", "neutral_scale",
     "%x = input f32[2,20]\n%1 = LayerNormalization(%x, s:f32[20]{1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}, "
     "b:f32[20]#b) {axis=-1}\noutput %1"},
    {"LRN", "three_quarters",
     "%x = input f32[1,9,3,5]\n%1 = LRN(%x) {size=5, alpha=0.3, beta=0.75, bias=2.0}\noutput %1"},
    {"LRN", "even_size", "%x = input f32[2,9,3,5]\n%1 = LRN(%x) {size=4, alpha=0.3, beta=1.0}\noutput %1"},
    {"BatchNormalization", "rows",
     "%x = input f32[3,4]\n%1 = BatchNormalization(%x, s:f32[4]#s, b:f32[4]#b, m:f32[4]#m, v:f32[4]#+v)\noutput %1"},
    {"BatchNormalization", "image",
     "%x = input f32[1,4,3,5]\n%1 = BatchNormalization(%x, s:f32[4]#s, b:f32[4]#b, m:f32[4]#m, v:f32[4]#+v) "
     "{epsilon=0.001}\noutput %1"},

    // pad.cpp
    {"Pad", "image_with_a_value",
     "%x = input f32[1,3,4,5]\n%1 = Pad(%x, p:i64[8]{0,0,1,2,0,0,3,0}, v:f32[]{-1.5})\noutput %1"},

    // pool.cpp
    {"AveragePool", "padding_left_out",
     "%x = input f32[1,3,7,7]\n%1 = AveragePool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}\noutput %1"},
    {"AveragePool", "padding_counts",
     "%x = input f32[1,3,7,7]\n%1 = AveragePool(%x) {kernel_shape=[3,3], pads=[1,0,1,1], count_include_pad=1}\noutput "
     "%1"},
    {"AveragePool", "ceil_mode",
     "%x = input f32[1,3,8,8]\n%1 = AveragePool(%x) {kernel_shape=[3,3], strides=[2,2], ceil_mode=1}\noutput %1"},
    {"MaxPool", "padded",
     "%x = input f32[1,3,7,7]\n%1 = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}\noutput %1"},
    {"MaxPool", "dilation_of_a_side_of_one",
     "%x = input f32[1,3,7,7]\n%1 = MaxPool(%x) {kernel_shape=[1,2], dilations=[2,1], pads=[0,1,0,1]}\noutput %1"},
    {"MaxPool", "dilated_without_padding",
     "%x = input f32[1,3,7,8]\n%1 = MaxPool(%x) {kernel_shape=[3,2], dilations=[2,3], strides=[1,2]}\noutput %1"},
    {"MaxPool", "ceil_mode",
     "%x = input f32[1,3,8,8]\n%1 = MaxPool(%x) {kernel_shape=[3,2], strides=[2,2], ceil_mode=1}\noutput %1"},
    {"AveragePool", "one_element", "%x = input f32[1,3,4,5]\n%1 = AveragePool(%x) {kernel_shape=[1,1]}\noutput %1"},
    {"MaxPool", "one_element", "%x = input f32[1,3,4,5]\n%1 = MaxPool(%x) {kernel_shape=[1,1]}\noutput %1"},
    {"GlobalAveragePool", "image", "%x = input f32[2,3,7,5]\n%1 = GlobalAveragePool(%x)\noutput %1"},
    {"GlobalMaxPool", "image", "%x = input f32[2,3,7,5]\n%1 = GlobalMaxPool(%x)\noutput %1"},

    // quantize.cpp
    // lower_quantized.cpp
    {"QLinearConv", "scales_of_channels",
     "%x = input f32[1,3,9,11]\n%q = QuantizeLinear(%x, s:f32[]{0.03}, z:i8[]{10})\n%1 = QLinearConv(%q, s, z, "
     "w:i8[8,3,3,3]#w, ws:f32[8]#+ws, wz:i8[8]{0,0,0,0,0,0,0,0}, ys:f32[]{0.9}, yz:i8[]{-20}, "
     "b:i32[8]{0,1,-2,300,40,5,6,7}) {kinglet_integers=1, pads=[1,1,1,1]}\n%2 = DequantizeLinear(%1, ys, yz)\noutput "
     "%2"},
    {"QLinearConv", "depthwise_and_bounds",
     "%x = input f32[1,6,7,7]\n%q = QuantizeLinear(%x, s:f32[]{0.03}, z:i8[]{10})\n%1 = QLinearConv(%q, s, z, "
     "w:i8[6,1,3,3]#w, ws:f32[]{0.02}, wz:i8[]{0}, ys:f32[]{0.11}, yz:i8[]{-20}) {kinglet_integers=1, kinglet_max=6.0, "
     "kinglet_min=0.0, group=6, strides=[2,2]}\n%2 = DequantizeLinear(%1, ys, yz)\noutput %2"},
    {"QLinearConv", "unsigned_around_any_level",
     "%x = input f32[1,3,7,7]\n%q = QuantizeLinear(%x, s:f32[]{0.03}, z:u8[]{110})\n%1 = QLinearConv(%q, s, z, "
     "w:u8[4,3,1,1]#w, ws:f32[]{0.02}, wz:u8[]{140}, ys:f32[]{0.3}, yz:u8[]{100}, b:i32[4]{100,-7,9,10}) "
     "{kinglet_integers=1}\n%2 = DequantizeLinear(%1, ys, yz)\noutput %2"},
    {"QLinearMatMul", "scales_of_columns",
     "%x = input f32[3,16]\n%q = QuantizeLinear(%x, s:f32[]{0.03}, z:i8[]{10})\n%1 = QLinearMatMul(%q, s, z, "
     "w:i8[16,5]#w, ws:f32[5]#+ws, wz:i8[5]{0,0,0,0,0}, ys:f32[]{0.9}, yz:i8[]{-20}) {kinglet_integers=1}\n%2 = "
     "DequantizeLinear(%1, ys, yz)\noutput %2"},
    {"QuantizeLinear", "unsigned",
     "%x = input f32[1,3,4,4]\n%1 = QuantizeLinear(%x, s:f32[]{0.01}, z:u8[]{100})\n%2 = DequantizeLinear(%1, s, "
     "z)\noutput %2"},
    {"DequantizeLinear", "signed",
     "%x = input f32[1,3,4,4]\n%1 = QuantizeLinear(%x, s:f32[]{0.01}, z:i8[]{-20})\n%2 = DequantizeLinear(%1, s, "
     "z)\noutput %2"},

    // reshape.cpp
    {"Identity", "row", "%x = input f32[9]\n%1 = Identity(%x)\noutput %1"},
    {"Dropout", "row", "%x = input f32[9]\n%1 = Dropout(%x)\noutput %1"},
    {"Reshape", "image_to_row", "%x = input f32[1,3,2,4]\n%1 = Reshape(%x, s:i64[2]{1,-1})\noutput %1"},
    {"Flatten", "image_to_row", "%x = input f32[1,3,2,4]\n%1 = Flatten(%x)\noutput %1"},
    {"Squeeze", "pixels", "%x = input f32[1,3,1,1]\n%1 = Squeeze(%x, a:i64[2]{2,3})\noutput %1"},
    {"Unsqueeze", "row_to_image", "%x = input f32[2,3]\n%1 = Unsqueeze(%x, a:i64[2]{2,3})\noutput %1"},

    // resize.cpp
    {"Resize", "half_pixel",
     "%x = input f32[1,3,4,5]\n%1 = Resize(%x, _, _, t:i64[4]{1,3,9,7}) {mode=\"linear\"}\noutput %1"},
    {"Resize", "smaller_by_scales",
     "%x = input f32[1,3,8,6]\n%1 = Resize(%x, _, s:f32[4]{1,1,0.5,0.5}) {mode=\"linear\"}\noutput %1"},
    {"Resize", "corners",
     "%x = input f32[1,2,4,5]\n%1 = Resize(%x, _, _, t:i64[2]{7,9}) {axes=[2,3], "
     "coordinate_transformation_mode=\"align_corners\", mode=\"linear\"}\noutput %1"},
    {"Resize", "asymmetric",
     "%x = input f32[1,2,4,5]\n%1 = Resize(%x, _, s:f32[4]{1,1,2,3}) {coordinate_transformation_mode=\"asymmetric\", "
     "mode=\"linear\"}\noutput %1"},
    {"Resize", "nearest_twice",
     "%x = input f32[1,3,4,5]\n%1 = Resize(%x, _, s:f32[4]{1,1,2,2}) {coordinate_transformation_mode=\"asymmetric\", "
     "mode=\"nearest\", nearest_mode=\"floor\"}\n%2 = MaxPool(%1) {kernel_shape=[2,2]}\noutput %2"},

    // softmax.cpp
    {"Softmax", "last_axis", "%x = input f32[2,10]\n%1 = Softmax(%x)\noutput %1"},
    {"Softmax", "channels_of_pixels", "%x = input f32[1,5,3,4]\n%1 = Softmax(%x) {axis=1}\noutput %1"},
    {"Softmax", "channels_of_one_pixel", "%x = input f32[1,5,1,1]\n%1 = Softmax(%x) {axis=1}\noutput %1"},

    // concat.cpp, slice.cpp, transpose.cpp
    {"Concat", "channels",
     "%x = input f32[1,3,4,5]\n%y = input f32[1,2,4,5]\n%1 = Concat(%x, %y, %x) {axis=1}\noutput %1"},
    {"Concat", "seven_rows", "%x = input f32[2,3]\n%1 = Concat(%x, %x, %x, %x, %x, %x, %x) {axis=-1}\noutput %1"},
    {"Split", "unequal", "%x = input f32[1,6,4,5]\n%1, %2 = Split(%x, s:i64[2]{4,2}) {axis=1}\noutput %1, %2"},
    {"Slice", "ends",
     "%x = input f32[1,6,4,5]\n%1 = Slice(%x, a:i64[2]{1,-3}, b:i64[2]{4,100}, c:i64[2]{1,3})\noutput %1"},
    {"Slice", "every_second_pixel",
     "%x = input f32[1,3,8,6]\n%1 = Slice(%x, a:i64[2]{1,0}, b:i64[2]{100,100}, c:i64[2]{2,3}, d:i64[2]{2,2})\noutput "
     "%1"},
    {"Slice", "every_third_of_some",
     "%x = input f32[11]\n%1 = Slice(%x, a:i64[1]{4}, b:i64[1]{9}, c:i64[1]{0}, "
     "d:i64[1]{3})\noutput %1"},
    {"Transpose", "channel_shuffle", "%x = input f32[1,2,3,4,5]\n%1 = Transpose(%x) {perm=[0,2,1,3,4]}\noutput %1"},
    {"Transpose", "image_to_rows", "%x = input f32[1,3,4,5]\n%1 = Transpose(%x) {perm=[0,2,3,1]}\noutput %1"},

    // rearrange.cpp
    {"Rearrange", "heads",
     "%x = input f32[5,12]\n%1 = kinglet::Rearrange(%x) {split=[5,3,4], take=[-1,-1,-1], perm=[1,0,2], "
     "shape=[3,5,4]}\noutput %1"},
    {"Rearrange", "one_of_three",
     "%x = input f32[5,24]\n%1 = kinglet::Rearrange(%x) {split=[5,3,2,4], take=[-1,2,-1,-1], perm=[2,0,3], "
     "shape=[1,2,5,4]}\noutput %1"},
    {"Rearrange", "windows_of_an_image",
     "%x = input f32[1,3,4,6]\n%1 = Conv(%x, w:f32[8,3,1,1]#w)\n%2 = kinglet::Rearrange(%1) {split=[8,2,2,3,2], "
     "take=[-1,-1,-1,-1,-1], perm=[1,3,2,4,0], shape=[6,4,8]}\noutput %2"},
    {"Rearrange", "image_of_windows",
     "%x = input f32[6,4,8]\n%1 = kinglet::Rearrange(%x) {split=[2,3,2,2,8], take=[-1,-1,-1,-1,-1], "
     "perm=[4,0,2,1,3], shape=[1,8,4,6]}\n%2 = Conv(%1, w:f32[3,8,1,1]#w)\noutput %2"},

    // reduce.cpp
    {"ReduceMean", "pixels", "%x = input f32[1,3,4,5]\n%1 = ReduceMean(%x, a:i64[2]{2,3})\noutput %1"},
    {"ReduceMean", "pixels_dropped",
     "%x = input f32[1,3,4,5]\n%1 = ReduceMean(%x, a:i64[2]{-1,-2}) {keepdims=0}\noutput %1"},
    {"ReduceL2", "channels", "%x = input f32[1,3,4,5]\n%1 = ReduceL2(%x, a:i64[1]{1})\noutput %1"},
    {"ReduceSumSquare", "last_axis",
     "%x = input f32[2,3,5]\n%1 = ReduceSumSquare(%x, a:i64[1]{-1}) {keepdims=0}\noutput %1"},
    {"ReduceSum", "channels", "%x = input f32[1,3,4,5]\n%1 = ReduceSum(%x, a:i64[1]{1})\noutput %1"},

    // gather.cpp, repeat.cpp
    {"Gather", "one_of_three", "%x = input f32[3,2,5]\n%1 = Gather(%x, i:i64[]{-1})\noutput %1"},
    {"Gather", "channels_of_an_image",
     "%x = input f32[1,6,3,4]\n%1 = Gather(%x, i:i64[5]{4,5,0,1,2}) {axis=1}\noutput %1"},
    {"Gather", "table", "%x = input f32[4,5]\n%1 = Gather(%x, i:i64[2,2]{3,0,0,1}) {axis=0}\noutput %1"},
    {"Expand", "rows", "%x = input f32[3,1]\n%1 = Expand(%x, s:i64[3]{2,1,4})\noutput %1"},
};

}  // namespace kinglet::engine
