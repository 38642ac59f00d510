// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/verify.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSmallNet = R"(%x = input f32[N,3,8,8]
%1 = Conv(%x, w:f32[4,3,3,3]#a1, b:f32[4]{0,0.5,-1,1e-05}) {auto_pad="NOTSET", pads=[1,1,1,1]}
%2, _ = Dropout(%1, _, off:bool[]{0}) {scale=1.0, scales=[0.5,2.0], t=i64[2]{1,-2}}
%3 = com.microsoft::Thing(%2, "odd name":i8[2]{-128,127})
output %3, %1
)";

TEST(GraphText, PrintsWhatItReadsWhenSeedsAreKnown) {
  const auto parsed = parse_text(kSmallNet);
  ASSERT_TRUE(parsed.has_value()) << describe(parsed.error());
  ASSERT_TRUE(verify(parsed->graph).has_value());
  EXPECT_EQ(to_text(parsed->graph, {.seeds = &parsed->seeds}), kSmallNet);
}

TEST(GraphText, NumbersComputedValuesInOrderWhateverTheirNames) {
  const auto parsed = parse_text("%x = input f32[2]\n%late = Relu(%x)\n%early = Neg(%late)\noutput %early\n");
  ASSERT_TRUE(parsed.has_value()) << describe(parsed.error());
  EXPECT_EQ(to_text(parsed->graph), "%x = input f32[2]\n%1 = Relu(%x)\n%2 = Neg(%1)\noutput %2\n");
}

TEST(GraphText, PrintsTypesOfMadeValuesOnRequest) {
  const auto parsed = parse_text("%x = input f32[2]\n%1:f32[2] = Relu(%x)\n%2:i64 = Shape(%1)\noutput %2\n");
  ASSERT_TRUE(parsed.has_value()) << describe(parsed.error());
  EXPECT_EQ(to_text(parsed->graph, {.types = true}),
            "%x = input f32[2]\n%1:f32[2] = Relu(%x)\n%2:i64 = Shape(%1)\noutput %2\n");
}

TEST(GraphText, HashTellsWeightsApartAndRepeats) {
  const auto line = [](std::string_view seed) {
    const auto parsed = parse_text("%1 = Relu(w:f32[5,5]#" + std::string(seed) + ")\noutput %1\n");
    return to_text(parsed->graph);
  };
  EXPECT_EQ(line("a"), line("a"));
  EXPECT_NE(line("a"), line("b"));
}

TEST(GraphText, OneConstantReadTwiceIsOneValue) {
  const auto parsed = parse_text("%1 = Add(w:f32[2]{1,2}, w:f32[2]{1,2})\n%2 = Add(%1, w)\noutput %2\n");
  ASSERT_TRUE(parsed.has_value()) << describe(parsed.error());
  EXPECT_EQ(parsed->graph.consumers(*parsed->graph.find_value("w")).size(), 3U);
}

TEST(GraphText, PositiveSeedsAreAboveZero) {
  const Tensor tensor = seeded_tensor(DataType::kF32, {100}, "v", true);
  for (const float value : tensor.data<float>()) {
    EXPECT_GE(value, 0.5F);
    EXPECT_LT(value, 1.5F);
  }
}

class BadText : public ::testing::TestWithParam<std::pair<std::string_view, std::string_view>> {};

TEST_P(BadText, IsRefusedWithItsLine) {
  const auto parsed = parse_text(GetParam().first);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_THAT(describe(parsed.error()), HasSubstr(GetParam().second));
}

INSTANTIATE_TEST_SUITE_P(
    GraphText, BadText,
    ::testing::Values(std::pair("%1 = Relu(%x)", "line 1: expected \"x\" to be made before it is read"),
                      std::pair("\n%x = input f31[1]", "line 2: expected a type"),
                      std::pair("%x = input f32[1", "expected ','"), std::pair("%x = Relu(", "expected a value"),
                      std::pair("%x = Relu(w:i8[1]{300})", "expected a number that fits"),
                      std::pair("%x = Relu(w:f32[2]{1})", "expected ','"),
                      std::pair("%x = Relu(w:f32[1]{1}, w:f32[1]{2})", "expected the same constant"),
                      std::pair("%x = Relu(w:f32[99999999999]#a)", "at most 16777216"),
                      std::pair("%x = input f32[1]\n%x = Relu(%x)", "\"x\" to be new"),
                      std::pair("%x = Relu(w:f32[1]{1}) {a=}", "an attribute's value"),
                      std::pair("output %x", "to be made before"), std::pair("hello", "expected '%'")));

}  // namespace
}  // namespace kinglet::engine
