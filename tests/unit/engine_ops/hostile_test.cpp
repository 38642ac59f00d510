// SPDX-License-Identifier: Apache-2.0
// Sizes and numbers that no exporter writes: each is an error of one line, never a crash, an endless loop or gigabytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <format>

#include "engine/ops/op.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

using ::testing::HasSubstr;

struct HostileCase {
  std::string_view name;
  std::string_view node;   // reads %x = input f32[2,3,4,5]
  std::string_view error;  // part of what is said
};

constexpr HostileCase kCases[] = {
    {"RangeWithoutEnd", "Range(a:f32[]{0}, b:f32[]{1}, c:f32[]{0})", "never reaches its limit"},
    {"RangeOfHugeLength", "Range(a:i64[]{-9223372036854775807}, b:i64[]{9223372036854775807}, c:i64[]{1})", "numbers"},
    {"RangeOfMixedTypes", "Range(a:i64[]{0}, b:f32[]{1}, c:i64[]{1})", "input 1 is f32"},
    {"TopKBeyondTheAxis", "TopK(%x, k:i64[1]{6})", "has fewer numbers"},
    {"TopKOfANegativeNumber", "TopK(%x, k:i64[1]{-1})", "k is -1"},
    {"BoxesOfThreeNumbers", "NonMaxSuppression(b:f32[1,2,3]#b, s:f32[1,1,2]#s)", "expected [N,B,4] and [N,C,B]"},
    {"BoxesForOtherScores", "NonMaxSuppression(b:f32[1,2,4]#b, s:f32[1,1,3]#s)", "expected [N,B,4] and [N,C,B]"},
    {"BoxesLimitedByTwoNumbers", "NonMaxSuppression(b:f32[1,2,4]#b, s:f32[1,1,2]#s, m:i64[2]{1,2})",
     "is not one number"},
    {"BoxesOverByMoreThanAll", "NonMaxSuppression(b:f32[1,2,4]#b, s:f32[1,1,2]#s, m:i64[]{1}, i:f32[]{1.5})",
     "iou_threshold is 1.5"},
    {"TriluOfAVector", "Trilu(v:f32[3]{1,2,3})", "2 or more"},
    {"EyeLikeOfAnUnknownType", "EyeLike(m:f32[2,2]{1,2,3,4}) {dtype=11}", "DOUBLE (is float64"},
    {"ResizeByZero", "Resize(%x, _, s:f32[4]{1,1,0,1})", "cannot resize"},
    {"ResizeByAHugeScale", "Resize(%x, _, s:f32[4]{1,1,1e30,1})", "cannot resize"},
    {"ResizeToTwoSizes", "Resize(%x, _, s:f32[4]{1,1,2,2}, t:i64[4]{2,3,8,10})", "both scales and sizes"},
    {"ResizeToNoSize", "Resize(%x)", "both scales and sizes, or none"},
    {"ResizeToANegativeSize", "Resize(%x, _, _, t:i64[4]{2,3,-8,10})", "cannot resize"},
    {"ResizeOfTooFewAxes", "Resize(%x, _, _, t:i64[2]{8,10})", "2 numbers for 4 axes"},
    {"ResizeOfAnAxisThatIsNot", "Resize(%x, _, _, t:i64[1]{8}) {axes=[4]}", "axis"},
    {"ResizeOfOneAxisTwice", "Resize(%x, _, _, t:i64[2]{8,9}) {axes=[1,-3]}", "named twice"},
    {"ResizeInAnUnknownMode", "Resize(%x, _, _, t:i64[4]{2,3,8,10}) {mode=\"best\"}", "mode has an unknown value"},
    {"ResizeOfTooSmallARegion",
     "Resize(%x, r:f32[2]{0,1}, _, t:i64[4]{2,3,8,10}) {coordinate_transformation_mode=\"tf_crop_and_resize\"}",
     "roi has 2 numbers for 4 axes"},
    {"ResizeToMoreThanMemory", "Resize(%x, _, _, t:i64[4]{100000,3,100000,10})", "more than"},
    {"LpNormalizationOfAnUnknownNorm", "LpNormalization(%x) {p=3}", "attribute p is 3"},
    {"MeanVarianceOfAnAxisThatIsNot", "MeanVarianceNormalization(v:f32[2,2]{1,2,3,4})", "axis"},
    {"ConvIntegerOfFloats", "ConvInteger(%x, w:u8[1,3,1,1]{1,2,3})", "input 0 is f32"},
    {"ConvIntegerOfOtherChannels", "ConvInteger(q:u8[1,2,1,1]{1,2}, w:u8[1,3,1,1]{1,2,3})", "has 2 channels"},
    {"QLinearConvOfTooFewScales",
     "QLinearConv(q:u8[1,1,1,1]{1}, s:f32[]{1}, z:u8[]{0}, w:u8[3,1,1,1]{1,2,3}, ws:f32[2]{1,1}, wz:u8[]{0}, "
     "ys:f32[]{1}, yz:u8[]{0})",
     "one for each of 3 channels"},
    {"MatMulIntegerOfOtherDepth", "MatMulInteger(a:u8[1,2]{1,2}, b:u8[3,1]{1,2,3})", "cannot multiply"},
    {"MatMulIntegerWithRowsOfAVector", "MatMulInteger(a:u8[2,2]{1,2,3,4}, b:u8[2]{1,2}, z:u8[2]{1,1})",
     "one side is a vector"},
    {"QLinearMatMulWithoutAnInput", "QLinearMatMul(a:u8[1,1]{1}, s:f32[]{1}, _, b:u8[1,1]{1}, s, z:u8[]{0}, s, z)",
     "input 2 is missing"},
    {"DynamicQuantizeOfIntegers", "DynamicQuantizeLinear(q:u8[2]{1,2})", "input 0 is u8"},
    {"BlocksThatDoNotFit", "QuantizeLinear(%x, s:f32[2,2,4,5]#+1) {axis=1, block_size=3}", "does not have one number"},
    {"ABlockSizeBelowZero", "QuantizeLinear(%x, s:f32[]{1}) {block_size=-1}", "block_size is -1"},
    {"QLinearConcatOfHalfATensor", "com.microsoft::QLinearConcat(s:f32[]{1}, z:u8[]{0}, q:u8[1]{1}, s)",
     "expected 2 and 3 for each tensor"},
    {"QLinearAddWithoutItsScales", "com.microsoft::QLinearAdd(q:u8[1]{1})", "input 1 is missing"},
    {"QLinearAddOfOtherShapes",
     "com.microsoft::QLinearAdd(a:u8[2]{1,2}, s:f32[]{1}, z:u8[]{0}, b:u8[3]{1,2,3}, s, z, s, z)", "do not broadcast"},
    {"QLinearPoolOfChannelsLast",
     "com.microsoft::QLinearAveragePool(q:u8[1,2,2,1]{1,2,3,4}, s:f32[]{1}, z:u8[]{0}, s, z) "
     "{channels_last=1, kernel_shape=[2,2]}",
     "stores its channels last"},
    {"QGemmOfTwoVectors", "com.microsoft::QGemm(a:u8[2]{1,2}, s:f32[]{1}, z:u8[]{0}, b:u8[2]{1,2}, s, z)",
     "expected 2 dimensions"},
};

class Hostile : public ::testing::TestWithParam<HostileCase> {};

TEST_P(Hostile, IsAnErrorOfOneLine) {
  const std::string text = std::format("%x = input f32[2,3,4,5]\n%1 = {}\noutput %1", GetParam().node);
  Result<ParsedGraph> parsed = parse_text(text);
  ASSERT_TRUE(parsed) << describe(parsed.error());
  const Result<void> inferred = infer_shapes(parsed->graph);
  ASSERT_FALSE(inferred);
  EXPECT_THAT(describe(inferred.error()), HasSubstr(GetParam().error));
  EXPECT_FALSE(inferred.error().message.contains('\n'));
}

INSTANTIATE_TEST_SUITE_P(, Hostile, ::testing::ValuesIn(kCases),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

}  // namespace
}  // namespace kinglet::engine
