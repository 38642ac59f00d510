// SPDX-License-Identifier: Apache-2.0
// Forms that XNNPACK answers wrongly or ends the process at: they run by evaluate. And outputs that nobody asked for,
// which are no reason to.
#include <gtest/gtest.h>

#include <algorithm>
#include <format>

#include "engine/session/session.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

Session odd_session(const Graph& graph, bool optimize = false) {
  auto session = Session::create(Graph(graph), {.optimize = optimize});
  if (!session) throw std::runtime_error(describe(session.error()));
  return std::move(*session);
}

// The largest difference to evaluate's answer.
float difference(const Graph& graph, Session& session) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < session.inputs().size(); ++i) {
    inputs.push_back(seeded_tensor(session.inputs()[i].type, session.inputs()[i].shape, "x"));
    EXPECT_TRUE(session.set_input(i, inputs.back()));
  }
  EXPECT_TRUE(session.run());
  const auto expected = evaluate_graph(graph, inputs);
  EXPECT_TRUE(expected) << describe(expected.error());
  const std::vector<float> want = expected->front().to_floats();
  const std::vector<float> got = session.get_output(0).to_floats();
  float largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i) largest = std::max(largest, std::abs(want[i] - got[i]));
  return largest;
}

TEST(MaxPoolWithDilationAndPadding, TakesNumbersOfItsWindowsOnly) {
  int lowered = 0;
  for (const int kernel : {1, 2, 3}) {
    for (const int dilation : {1, 2, 3}) {
      for (int pads = 0; pads < 9; ++pads) {
        const Graph graph = graph_of(
            std::format("%x = input f32[1,2,7,9]\n%1 = MaxPool(%x) {{kernel_shape=[{0},2], dilations=[{1},{2}], "
                        "pads=[{3},{4},{5},{4}]}}\noutput %1",
                        kernel, dilation, 4 - dilation, std::min(pads % 3, kernel - 1), pads / 3 % 2,
                        std::min(pads / 3, kernel - 1)));
        Session session = odd_session(graph);
        lowered += session.plan().fallback_nodes.empty() ? 1 : 0;
        EXPECT_EQ(difference(graph, session), 0) << to_text(graph);
      }
    }
  }
  EXPECT_GT(lowered, 20);
}

// Found at random: the axes of one left numbers in the order of the memory of a picture.
TEST(Rearrange, WithAxesOfOneRunsByEvaluate) {
  for (const char* text :
       {"%x = input f32[2,2,7,1]\n%p = MaxPool(%x) {kernel_shape=[1,1]}\n"
        "%1 = kinglet::Rearrange(%p) {split=[2,1,2,7,1,1], take=[-1,-1,-1,-1,-1,-1], perm=[1,4,3,2,0,5], "
        "shape=[1,1,7,2,2,1]}\noutput %1",
        "%x = input f32[4,1,1,1]\n%p = MaxPool(%x) {kernel_shape=[1,1]}\n"
        "%1 = kinglet::Rearrange(%p) {split=[2,2,1,1,1,1,1], take=[-1,-1,-1,-1,0,-1,-1], perm=[2,1,0,3,5,6], "
        "shape=[1,2,2,1,1,1]}\noutput %1"}) {
    const Graph graph = graph_of(text);
    Session session = odd_session(graph);
    EXPECT_EQ(difference(graph, session), 0) << text;
  }
}

TEST(AveragePool, MayHaveWindowsOverBothPaddings) {
  for (const char* attributes :
       {"kernel_shape=[4,1], pads=[0,0,3,0]", "kernel_shape=[4,1], pads=[1,0,2,0], strides=[2,1], ceil_mode=1",
        "kernel_shape=[3,3], pads=[2,2,2,2], strides=[2,1]"}) {
    const Graph graph =
        graph_of(std::format("%x = input f32[2,3,2,2]\n%1 = AveragePool(%x) {{{}}}\noutput %1", attributes));
    Session session = odd_session(graph);
    EXPECT_LE(difference(graph, session), 1e-6F) << attributes;
  }
}

TEST(LargeDepthwiseConvolution, MayReadNothingButPadding) {
  const Graph graph = graph_of(
      "%x = input f32[1,2,1,1]\n%1 = Conv(%x, w:f32[2,1,6,7]#w, b:f32[2]#b) {group=2, dilations=[2,1], "
      "auto_pad=\"SAME_UPPER\"}\noutput %1");
  Session session = odd_session(graph);
  EXPECT_EQ(difference(graph, session), 0);
}

TEST(LeakyReluOfLevels, RunsWhateverItsSlopeAndScalesAre) {
  for (const char* alpha : {"0.01", "0.001", "0.0", "0.2", "-0.5", "-130.0", "500.0"}) {
    for (const char* scale : {"0.02", "0.0001", "3.0", "1e-6"}) {
      const Graph graph =
          graph_of(std::format("%x = input i8[1,3,4,5]\n%1 = DequantizeLinear(%x, s:f32[]{{0.02}}, z:i8[]{{3}})\n"
                               "%2 = LeakyRelu(%1) {{alpha={}}}\n%3 = QuantizeLinear(%2, t:f32[]{{{}}}, u:i8[]{{-7}})\n"
                               "%4 = DequantizeLinear(%3, t, u)\noutput %4",
                               alpha, scale));
      for (const bool optimize : {false, true}) {
        Session session = odd_session(graph, optimize);
        EXPECT_TRUE(session.plan().fallback_nodes.empty());
        EXPECT_LE(difference(graph, session), 1.001F * std::strtof(scale, nullptr)) << alpha << ' ' << scale;
      }
    }
  }
}

TEST(AbsentOutputs, DoNotCutASegment) {
  for (const char* text :
       {"%x = input f32[2,8]\n%1 = Relu(%x)\n%2, _ = Dropout(%1)\n%3 = Abs(%2)\noutput %3",
        "%x = input f32[2,8]\n%1, _, _ = LayerNormalization(%x, s:f32[8]#s)\n%2 = Abs(%1)\noutput %2",
        "%x = input f32[1,2,8,8]\n%1, _ = MaxPool(%x) {kernel_shape=[2,2]}\n%2 = Abs(%1)\noutput %2"}) {
    const Graph graph = graph_of(text);
    Session session = odd_session(graph);
    EXPECT_TRUE(session.plan().fallback_nodes.empty()) << text;
    EXPECT_EQ(session.plan().segments, 1U) << text;
    EXPECT_LE(difference(graph, session), 1e-5F) << text;
  }
}

// "Not there" is no value that the one makes and the other reads.
TEST(AbsentOutputs, AreNotTakenForAbsentInputs) {
  const Graph graph = graph_of(
      "%x = input f32[1,2,8,8]\n%y = input f32[2,8]\n"
      "%1, _ = MaxPool(%x) {dilations=[2,2], kernel_shape=[2,2], pads=[1,1,1,1]}\n"
      "%2 = Abs(%y)\n%3 = Clip(%2, _, b:f32[]{0.5})\noutput %1, %3");
  Session session = odd_session(graph);
  EXPECT_EQ(session.plan().fallback_nodes.size(), 1U);
  EXPECT_EQ(session.plan().segments, 1U);
}

}  // namespace
}  // namespace kinglet::engine
