// SPDX-License-Identifier: Apache-2.0
// Whole models with what XNNPACK would run on rubbish or abort on: each is refused in words, or runs right elsewhere.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/session/session.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

Result<Session> create(std::string_view text, bool optimize = true) {
  auto parsed = parse_text(text);
  if (!parsed) return std::unexpected(parsed.error());
  return Session::create(std::move(parsed->graph), {.optimize = optimize});
}

void expect_refused(std::string_view text) {
  for (const bool optimize : {false, true}) {
    const auto session = create(text, optimize);
    ASSERT_FALSE(session) << text;
    EXPECT_EQ(session.error().code, ErrorCode::kBadData) << describe(session.error());
    EXPECT_FALSE(session.error().message.empty());
  }
}

std::vector<float> answer(std::string_view text, bool optimize) {
  auto session = create(text, optimize);
  if (!session) throw std::runtime_error(describe(session.error()));
  const TensorInfo& input = session->inputs().front();
  EXPECT_TRUE(session->set_input(0, seeded_tensor(input.type, input.shape, "x")));
  EXPECT_TRUE(session->run());
  const Tensor output = session->get_output(0);
  return {output.data<float>().begin(), output.data<float>().end()};
}

TEST(BadModel, FilterForOtherChannelsIsRefused) {
  expect_refused("%x = input f32[1,3,8,8]\n%1 = Conv(%x, w:f32[4,2,3,3]#w)\noutput %1");
}

TEST(BadModel, BiasOfAnotherSizeIsRefused) {
  expect_refused("%x = input f32[1,3,8,8]\n%1 = Conv(%x, w:f32[4,3,3,3]#w, b:f32[3]#b)\noutput %1");
}

TEST(BadModel, ConvolutionThatLacksADimensionIsRefused) {
  expect_refused("%x = input f32[3,8,8]\n%1 = Conv(%x, w:f32[4,3,3,3]#w)\noutput %1");
}

TEST(BadModel, KernelLargerThanThePaddedInputIsRefused) {
  expect_refused("%x = input f32[1,3,4,4]\n%1 = Conv(%x, w:f32[4,3,7,7]#w) {pads=[1,1,1,1]}\noutput %1");
  expect_refused("%x = input f32[1,3,4,4]\n%1 = MaxPool(%x) {kernel_shape=[7,7]}\noutput %1");
}

TEST(BadModel, StrideOfZeroIsRefused) {
  expect_refused("%x = input f32[1,3,4,4]\n%1 = Conv(%x, w:f32[4,3,1,1]#w) {strides=[0,1]}\noutput %1");
}

TEST(BadModel, ConcatenationOfOtherSizesIsRefused) {
  expect_refused("%x = input f32[1,3,4,4]\n%y = input f32[1,3,5,4]\n%1 = Concat(%x, %y) {axis=1}\noutput %1");
  expect_refused("%x = input f32[1,3,4,4]\n%1 = Concat(%x, %x) {axis=4}\noutput %1");
}

TEST(BadModel, ShapesThatDoNotBroadcastAreRefused) {
  expect_refused("%x = input f32[1,3,4,4]\n%1 = Add(%x, c:f32[5]#c)\noutput %1");
}

TEST(BadModel, ReshapeToAnotherCountIsRefused) {
  expect_refused("%x = input f32[1,3,4,4]\n%1 = Reshape(%x, s:i64[2]{1,47})\noutput %1");
}

TEST(BadModel, InputWithASizeOfZeroIsRefused) { expect_refused("%x = input f32[1,0,4,4]\n%1 = Relu(%x)\noutput %1"); }

TEST(BadModel, EmptySliceInsideRunsElsewhere) {
  EXPECT_TRUE(
      answer("%x = input f32[2,4]\n%1 = Slice(%x, a:i64[1]{9}, b:i64[1]{12}, c:i64[1]{1})\noutput %1", false).empty());
}

TEST(BadModel, ClipToNoRangeGivesTheMaximum) {
  const char* text = "%x = input f32[2,4]\n%1 = Clip(%x, a:f32[]{1}, b:f32[]{-1})\noutput %1";
  for (const bool optimize : {false, true}) EXPECT_EQ(answer(text, optimize), std::vector<float>(8, -1.0F));
}

TEST(BadModel, ConvolutionClippedToOneNumberGivesThatNumber) {
  const char* text =
      "%x = input f32[1,3,4,4]\n%1 = Conv(%x, w:f32[2,3,3,3]#w)\n"
      "%2 = Clip(%1, a:f32[]{2}, b:f32[]{2})\noutput %2";
  for (const bool optimize : {false, true}) EXPECT_EQ(answer(text, optimize), std::vector<float>(8, 2.0F));
}

TEST(BadModel, SliceBeyondTheEndStopsThere) {
  const char* text = "%x = input f32[2,4]\n%1 = Slice(%x, a:i64[1]{2}, b:i64[1]{99}, c:i64[1]{1})\noutput %1";
  EXPECT_EQ(answer(text, true).size(), 4U);
}

TEST(BadModel, EightBitAdditionOfScalesFarApartIsRight) {
  const char* text = R"(
    %x = input f32[2,4]
    %1 = QuantizeLinear(%x, s1:f32[]{0.001}, z:u8[]{128})
    %2 = DequantizeLinear(%1, s1, z)
    %3 = QuantizeLinear(%x, s2:f32[]{1}, z)
    %4 = DequantizeLinear(%3, s2, z)
    %5 = Add(%2, %4)
    %6 = QuantizeLinear(%5, s1, z)
    %7 = DequantizeLinear(%6, s1, z)
    output %7
  )";
  for (const float y : answer(text, true)) {
    EXPECT_GE(y, -0.1281F);
    EXPECT_LE(y, 0.1271F);
  }
}

TEST(BadModel, ThreadCountOfZeroIsRefused) {
  auto parsed = parse_text("%x = input f32[2]\n%1 = Relu(%x)\noutput %1");
  ASSERT_TRUE(parsed);
  const auto session = Session::create(std::move(parsed->graph), {.threads = 0});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace kinglet::engine
