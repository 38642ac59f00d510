// SPDX-License-Identifier: Apache-2.0
// Inputs of floats of which a quantised model makes levels first: memory holds these.
#include "engine/session/integer_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/support/graph_of.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

using ::testing::ElementsAre;

// A convolution of 8 bits, with levels of this type.
std::string layer(std::string_view zero_point, std::string_view type) {
  const std::string z = "z:" + std::string(type) + "[]{" + std::string(zero_point) + "}";
  return "%x = input f32[1,3,6,6]\n"
         "%1 = QuantizeLinear(%x, s:f32[]{0.0625}, " +
         z +
         ")\n"
         "%2 = DequantizeLinear(%1, s, z)\n"
         "%3 = DequantizeLinear(w:i8[4,3,3,3]#w, ws:f32[]{0.0078125}, wz:i8[]{0})\n"
         "%4 = Conv(%2, %3){pads=[1,1,1,1]}\n"
         "%5 = QuantizeLinear(%4, ys:f32[]{0.125}, yz:" +
         std::string(type) +
         "[]{3})\n"
         "%6 = DequantizeLinear(%5, ys, yz)\n"
         "output %6\n";
}

std::vector<float> answer(Session& session, const Tensor& input) {
  EXPECT_TRUE(session.set_input(0, input));
  EXPECT_TRUE(session.run());
  const auto output = session.get_output(0);
  return {output.data<float>().begin(), output.data<float>().end()};
}

TEST(IntegerInputs, GiveTheAnswersOfTheFloats) {
  for (const auto& [zero_point, type] : {std::pair{"-3", "i8"}, std::pair{"125", "u8"}}) {
    Session floats = Session::create(graph_of(layer(zero_point, type)), {}).value();
    Session levels = Session::create(graph_of(layer(zero_point, type)), {.integer_inputs = true}).value();
    EXPECT_EQ(floats.input(0).size(), 4 * levels.input(0).size());
    const TensorInfo& input = levels.inputs()[0];
    EXPECT_EQ(input.type, DataType::kF32) << "the file's";
    ASSERT_TRUE(input.held);
    EXPECT_EQ(input.held->quantization.scale, 0.0625);
    EXPECT_FALSE(floats.inputs()[0].held);
    for (const char* seed : {"one", "two", "three"}) {
      const Tensor numbers = seeded_tensor(DataType::kF32, {1, 3, 6, 6}, seed);
      EXPECT_EQ(answer(floats, numbers), answer(levels, numbers));
    }
    EXPECT_LT(levels.plan().steps.size(), floats.plan().steps.size());
  }
}

TEST(IntegerInputs, AreNoneWhereSomebodyElseReadsTheFloats) {
  constexpr std::string_view kOthers[] = {
      // the floats
      "%x = input f32[1,4]\n%1 = QuantizeLinear(%x, s:f32[]{0.5}, z:i8[]{0})\n%2 = DequantizeLinear(%1, s, z)\n"
      "%3 = Mul(%2, %x)\noutput %3\n",
      // levels that are read as others
      "%x = input f32[1,4]\n%1 = QuantizeLinear(%x, s:f32[]{0.5}, z:i8[]{0})\n"
      "%2 = DequantizeLinear(%1, t:f32[]{0.25}, z)\noutput %2\n",
      // a scale for each column
      "%x = input f32[1,4]\n%1 = QuantizeLinear(%x, s:f32[4]{0.5,1,2,4}, z:i8[4]{0,0,0,0}){axis=1}\n"
      "%2 = DequantizeLinear(%1, s, z){axis=1}\noutput %2\n",
      // the levels themselves are asked for
      "%x = input f32[1,4]\n%1 = QuantizeLinear(%x, s:f32[]{0.5}, z:i8[]{0})\noutput %1\n"};
  for (const std::string_view text : kOthers) {
    const Session session = Session::create(graph_of(text), {.integer_inputs = true}).value();
    EXPECT_FALSE(session.inputs()[0].held) << text;
  }
}

TEST(IntegerInputs, LevelsAreThoseOfQuantizeLinear) {
  constexpr std::array kNumbers{0.0F, 0.25F, 0.75F, -0.25F, 63.6F, -1000.0F, HUGE_VALF, NAN};
  std::array<std::byte, kNumbers.size()> levels{};
  make_levels(kNumbers, {.type = DataType::kI8, .quantization = {.scale = 0.5, .zero_point = 1}}, levels);
  std::vector<int> signed_levels;
  for (const std::byte level : levels) signed_levels.push_back(static_cast<std::int8_t>(level));
  EXPECT_THAT(signed_levels, ElementsAre(1, 1, 3, 1, 127, -128, 127, -128));
  make_levels(kNumbers, {.type = DataType::kU8, .quantization = {.scale = 0.5, .zero_point = 128}}, levels);
  std::vector<int> unsigned_levels;
  for (const std::byte level : levels) unsigned_levels.push_back(std::to_integer<int>(level));
  EXPECT_THAT(unsigned_levels, ElementsAre(128, 128, 130, 128, 255, 0, 255, 0));
}

}  // namespace
}  // namespace kinglet::engine
