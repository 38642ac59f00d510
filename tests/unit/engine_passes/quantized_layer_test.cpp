// SPDX-License-Identifier: Apache-2.0
// Why a node of a quantised graph stays in float, told in words: one small graph for each reason a person may meet.
#include "engine/passes/quantized_layer.h"

#include <gtest/gtest.h>

#include "engine/ops/op.h"
#include "engine/passes/runner.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

struct Case {
  std::string_view name;
  std::string_view nodes;  // between %2, the dequantised input, and %9
  std::string_view reason;
};

void PrintTo(const Case& given, std::ostream* out) { *out << given.name; }

constexpr Case kCases[] = {
    {"float_weights", "%9 = Conv(%2, w:f32[3,2,1,1]#w)", "the weight is not quantised"},
    {"weights_of_another_type", "%3 = DequantizeLinear(w:u8[3,2,1,1]{1,2,3,4,5,255}, s, zw:u8[]{3})\n%9 = Conv(%2, %3)",
     "the weight is of another 8-bit type than the input"},
    {"weights_around_another_level",
     "%3 = DequantizeLinear(w:i8[3,2,1,1]{1,2,3,4,5,6}, s, zw:i8[]{3})\n%9 = Conv(%2, %3)",
     "a weight of int8 has zero points other than 0"},
    {"scales_along_the_inputs",
     "%3 = DequantizeLinear(w:i8[3,2,1,1]{1,2,3,4,5,6}, ws:f32[2]{0.1,0.2}, zw:i8[2]{0,0}) {axis=1}\n%9 = Conv(%2, %3)",
     "the weight's scales do not lie along its outputs"},
    {"computed_bias",
     "%3 = DequantizeLinear(w:i8[3,2,1,1]{1,2,3,4,5,6}, s)\n%4 = ReduceSum(%x, a:i64[3]{0,2,3}) {keepdims=0}\n"
     "%5 = Concat(%4, c:f32[1]{1}) {axis=0}\n%9 = Conv(%2, %3, %5)",
     "the bias is computed"},
    {"bias_beyond_32_bits",
     "%3 = DequantizeLinear(w:i8[3,2,1,1]{1,2,3,4,5,6}, s)\n%9 = Conv(%2, %3, b:f32[3]{1,1e7,1})",
     "the bias does not fit 32 bits"},
    {"scales_too_far_apart", "%3 = DequantizeLinear(w:i8[3,2,1,1]{1,2,3,4,5,6}, ws:f32[]{30000})\n%9 = Conv(%2, %3)",
     "its scales are too far apart to round by"},
    {"behind_a_convolution_without_bias",
     "%3 = DequantizeLinear(w:i8[3,2,1,1]{1,2,3,4,5,6}, s)\n%4 = Conv(%2, %3)\n"
     "%5 = QuantizeLinear(%4, t:f32[]{0.02}, u:i8[]{-6})\n%6 = DequantizeLinear(%5, t, u)\n%9 = Elu(%6)",
     "there is no 8-bit Elu of this form"},
    {"function_without_levels", "%9 = Elu(%2)", "there is no 8-bit Elu of this form"},
    {"float_summand", "%9 = Add(%2, %x)", "an input is not quantised"},
};

class WhyInFloat : public ::testing::TestWithParam<Case> {};

TEST_P(WhyInFloat, IsToldInWords) {
  const std::string text =
      "%x = input f32[1,2,4,4]\n%1 = QuantizeLinear(%x, s:f32[]{0.03}, z:i8[]{10})\n"
      "%2 = DequantizeLinear(%1, s, z)\n" +
      std::string(GetParam().nodes) +
      "\n%10 = QuantizeLinear(%9, s10:f32[]{0.02}, z10:i8[]{-60})\n"
      "%11 = DequantizeLinear(%10, s10, z10)\noutput %11\n";
  auto parsed = parse_text(text);
  ASSERT_TRUE(parsed) << describe(parsed.error());
  ASSERT_TRUE(infer_shapes(parsed->graph));
  ASSERT_TRUE(run_passes(parsed->graph, {.for_session = true, .until = "fuse_quantized"}));
  const std::vector<FloatNode> found = nodes_in_float(parsed->graph);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].reason, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(Graphs, WhyInFloat, ::testing::ValuesIn(kCases),
                         [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace kinglet::engine
