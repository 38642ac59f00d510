// SPDX-License-Identifier: Apache-2.0
// A concatenation of channels that kernels of our own give is nothing to do: each writes its channels where they lie in
// the whole, and the answer has XNNPACK's bits.
#include <gtest/gtest.h>

#include "engine/backend/kernels/convolution_parts.h"
#include "tests/contract/kernels/networks.h"

namespace kinglet::engine::kernels {
namespace {

// As SqueezeNet's and GoogLeNet's blocks are, with numbers of channels that end within vectors; two images.
constexpr const char* kBlock = R"(
%x = input f32[2,20,9,8]
%1 = Conv(%x, w1:f32[12,20,1,1]#w1, b1:f32[12]#b1) {kinglet_min=0.0}
%2 = Conv(%1, w2:f32[24,12,1,1]#w2, b2:f32[24]#b2) {kinglet_min=0.0}
%3 = Conv(%1, w3:f32[40,12,3,3]#w3, b3:f32[40]#b3) {pads=[1,1,1,1]}
%4 = Conv(%1, w4:f32[7,12,5,5]#w4) {pads=[2,2,2,2]}
%5 = Concat(%2, %3, %4) {axis=1}
%6 = Conv(%5, w5:f32[10,71,3,3]#w5) {strides=[2,2]}
%7 = HardSwish(%6)
%8 = Exp(%7)
output %8
)";
constexpr std::ptrdiff_t kOwn = 6;  // five layers, and what is nothing to do

std::ptrdiff_t joined_in(const Graph& graph, const SessionOptions& options) {
  const auto session = Session::create(Graph(graph), options).value();
  return std::ranges::count_if(session.plan().steps,
                               [](const StepInfo& step) { return step.kernel && step.kernel->name == "in_place"; });
}

TEST(JoinedChannels, AreWrittenWhereTheyLieWithTheBitsOfXnnpack) {
  if (!xnnpack_fuses()) GTEST_SKIP() << "XNNPACK rounds products and sums apart here";
  const Graph graph = graph_of(kBlock);
  constexpr const char* kForm = "woven_f32__scalar";
  EXPECT_EQ(joined_in(graph, {.own_kernels = false, .forced_kernels = {kForm}}), 1);
  EXPECT_EQ(joined_in(graph, {.own_kernels = false}), 0);
  expect_answer_of_xnnpack(input_of(graph), graph, {&kForm, 1}, kOwn);
}

TEST(JoinedChannels, AreWrittenInFloat16) {
  if (!Session::half_arithmetic()) GTEST_SKIP() << "no float16 arithmetic here";
  const Graph graph = graph_of(kBlock);
  constexpr const char* kForm = "woven_f16__scalar";
  EXPECT_EQ(joined_in(graph, {.own_kernels = false, .half = true, .forced_kernels = {kForm}}), 1);
  expect_answer_of_xnnpack(input_of(graph), graph, {&kForm, 1}, kOwn, true);
}

}  // namespace
}  // namespace kinglet::engine::kernels
