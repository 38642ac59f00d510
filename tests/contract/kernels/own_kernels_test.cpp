// SPDX-License-Identifier: Apache-2.0
// Kernels of our own stand where XNNPACK's are slower: the answers are the same bits, whichever computes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <format>

#include "engine/backend/kernels/convolution_s8.h"
#include "engine/session/session.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

struct Convolution {
  const char* name;
  std::string_view input, weight;  // shapes
  int outputs;
  std::string_view attributes;
  bool own = true;
  std::string_view activation = "";
};

void PrintTo(const Convolution& convolution, std::ostream* out) { *out << convolution.name; }

constexpr Convolution kConvolutions[] = {
    {"depthwise", "1,64,9,7", "64,1,3,3", 64, "group=64, pads=[1,1,1,1]"},
    {"depthwise_of_few_channels", "1,5,8,8", "5,1,3,3", 5, "group=5, pads=[1,1,1,1]"},
    {"depthwise_of_16", "1,16,6,11", "16,1,3,3", 16, "group=16, pads=[1,1,1,1]"},
    {"depthwise_of_24", "1,24,6,9", "24,1,3,3", 24, "group=24, pads=[1,1,1,1], strides=[2,2]"},
    {"depthwise_of_blocks_and_some", "1,144,7,7", "144,1,3,3", 144, "group=144, pads=[0,1,1,0], strides=[2,2]"},
    {"depthwise_of_blocks_and_many", "1,120,7,5", "120,1,3,3", 120, "group=120, pads=[1,1,1,1]"},
    {"depthwise_without_padding", "1,40,5,6", "40,1,3,3", 40, "group=40"},
    {"depthwise_5x5", "1,72,9,9", "72,1,5,5", 72, "group=72, pads=[2,2,2,2], strides=[2,1]"},
    {"depthwise_2x3", "1,48,9,9", "48,1,2,3", 48, "group=48, pads=[1,0,0,1]"},
    {"depthwise_dilated", "1,33,12,12", "33,1,3,3", 33, "group=33, pads=[2,2,2,2], dilations=[2,2]"},
    {"depthwise_wider_than_the_input", "1,20,2,1", "20,1,5,5", 20, "group=20, pads=[2,2,2,2]"},
    {"depthwise_of_a_batch", "3,32,5,5", "32,1,3,3", 32, "group=32, pads=[1,1,1,1]"},
    {"depthwise_with_relu", "1,80,6,6", "80,1,3,3", 80, "group=80, pads=[1,1,1,1]", true, "Relu"},
    {"depthwise_with_two_filters_a_channel", "1,8,6,6", "16,1,3,3", 16, "group=8, pads=[1,1,1,1]", false},
    {"stem", "1,3,17,15", "32,3,3,3", 32, "pads=[1,1,1,1], strides=[2,2]"},
    {"stem_padded_behind", "1,3,16,16", "16,3,3,3", 16, "pads=[0,0,1,1], strides=[2,2]"},
    {"stem_of_grey", "1,1,9,10", "48,1,5,5", 48, "pads=[2,2,2,2]"},
    {"stem_of_a_batch_with_relu", "2,3,8,9", "16,3,3,3", 16, "pads=[1,1,1,1]", true, "Relu"},
    {"stem_dilated_downwards", "1,4,12,9", "16,4,3,3", 16, "dilations=[2,1], pads=[2,1,2,1]"},
    {"stem_smaller_than_the_window", "1,3,1,2", "16,3,3,3", 16, "pads=[1,1,1,1]"},
    {"stem_of_7_columns", "1,1,20,20", "16,1,7,7", 16, "pads=[3,3,3,3], strides=[2,2]"},
    {"stem_of_many_weights", "1,3,20,20", "16,3,7,7", 16, "pads=[3,3,3,3], strides=[2,2]", false},
    {"stem_of_11_columns", "1,3,20,20", "16,3,3,11", 16, "pads=[1,5,1,5]", false},
    {"pixels_of_32_channels", "1,32,5,7", "16,32,1,1", 16, ""},
    {"pixels_of_18_channels_with_relu", "2,18,3,5", "48,18,1,1", 48, "", true, "Relu"},
    {"pixels_to_many_channels", "1,24,5,5", "144,24,1,1", 144, "", false},
    {"stem_of_odd_outputs", "1,3,8,8", "20,3,3,3", 20, "pads=[1,1,1,1]", false},
};

Graph network_of(const Convolution& of) {
  const std::string behind = of.activation.empty() ? "" : std::format("%5 = {}(%4)\n", of.activation);
  return graph_of(
      std::format("%x = input f32[{}]\n"
                  "%1 = QuantizeLinear(%x, s:f32[]{{0.0231}}, z:i8[]{{5}})\n%2 = DequantizeLinear(%1, s, z)\n"
                  "%3 = DequantizeLinear(w:i8[{}]#w, ws:f32[{}]#+ws) {{axis=0}}\n"
                  "%4 = Conv(%2, %3, b:f32[{}]#b) {{{}}}\n{}"
                  "%6 = QuantizeLinear(%{}, t:f32[]{{5.3}}, u:i8[]{{-11}})\n%7 = DequantizeLinear(%6, t, u)\n%8 = "
                  "Abs(%7)\noutput %8\n",
                  of.input, of.weight, of.outputs, of.outputs, of.attributes, behind, behind.empty() ? 4 : 5));
}

class OwnKernels : public ::testing::TestWithParam<Convolution> {};

Tensor answer(const Graph& graph, const SessionOptions& options, bool expect_own) {
  auto session = Session::create(Graph(graph), options);
  if (!session) throw std::runtime_error(describe(session.error()));
  EXPECT_EQ(std::ranges::contains(session->plan().steps, "kinglet", &StepInfo::backend), expect_own);
  Tensor input = seeded_tensor(DataType::kF32, session->inputs().front().shape, "x");
  for (float& x : input.mutable_data<float>()) x *= 3.2F;
  EXPECT_TRUE(session->set_input(0, input));
  EXPECT_TRUE(session->run());
  return session->get_output(0);
}

TEST_P(OwnKernels, GiveTheBitsOfXnnpack) {
  if (!kernels::has_byte_products()) GTEST_SKIP() << "this processor has no products of four bytes (AVX-512 VNNI)";
  const Graph graph = network_of(GetParam());
  const Tensor expected = answer(graph, {.own_kernels = false}, false);
  for (const int threads : {1, 3}) {
    const Tensor found = answer(graph, {.threads = threads}, GetParam().own);
    EXPECT_TRUE(std::ranges::equal(found.bytes(), expected.bytes()));
  }
  const auto numbers = expected.data<float>();
  EXPECT_GT(std::ranges::max(numbers) - std::ranges::min(numbers), 1);  // not one level everywhere
}

INSTANTIATE_TEST_SUITE_P(Forms, OwnKernels, ::testing::ValuesIn(kConvolutions),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace kinglet::engine
