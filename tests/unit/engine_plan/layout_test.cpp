// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include "engine/session/session.h"
#include "tests/unit/engine_plan/plan_of.h"

namespace kinglet::engine {
namespace {

Layout layout_of(const Graph& graph, std::string_view name) {
  return assign_layouts(graph).of(graph.find_value(name).value());
}

TEST(Layout, OfAnImageThatAConvolutionReadsIsNhwc) {
  const Graph graph = inferred("%x = input f32[1,3,8,8]\n%1 = Conv(%x, w:f32[4,3,3,3]#w)\n%2 = Relu(%1)\noutput %2");
  EXPECT_EQ(layout_of(graph, "x"), Layout::kNhwc);
  EXPECT_EQ(layout_of(graph, "1"), Layout::kNhwc);
  EXPECT_EQ(layout_of(graph, "2"), Layout::kNhwc);
}

TEST(Layout, IsWantedThroughElementwiseNodes) {
  const Graph graph = inferred("%x = input f32[1,3,8,8]\n%1 = Sigmoid(%x)\n%2 = Conv(%1, w:f32[4,3,1,1]#w)\noutput %2");
  EXPECT_EQ(layout_of(graph, "x"), Layout::kNhwc);
}

TEST(Layout, StaysLogicalWhereNothingWantsAnother) {
  const Graph graph = inferred("%x = input f32[1,3,8,8]\n%1 = Relu(%x)\noutput %1");
  EXPECT_EQ(layout_of(graph, "x"), Layout::kLogical);
  EXPECT_EQ(layout_of(graph, "1"), Layout::kLogical);
}

TEST(Layout, OfATransposeGoesTheWayItsReaderWants) {
  const Graph graph = inferred(R"(
%x = input f32[1,8,8,3]
%1 = Transpose(%x) {perm=[0,3,1,2]}
%2 = Conv(%1, w:f32[4,3,3,3]#w)
output %2
)");
  EXPECT_EQ(layout_of(graph, "1"), Layout::kNhwc);
  // So the exporter's transpose copies nothing; the one left is that of the result, which leaves as NCHW.
  auto session = Session::create(Graph(graph), {});
  ASSERT_TRUE(session);
  EXPECT_EQ(session->plan().transposes, 1U);
}

TEST(MultiplyAdds, CountConvolutionsAndProducts) {
  const Graph graph = inferred(R"(
%x = input f32[1,4,8,8]
%1 = Conv(%x, w:f32[6,4,3,3]#w) {pads=[1,1,1,1]}
%2 = Conv(%1, d:f32[6,1,3,3]#d) {group=6, strides=[2,2], pads=[1,1,1,1]}
%3 = GlobalAveragePool(%2)
%4 = Flatten(%3)
%5 = Gemm(%4, g:f32[10,6]#g) {transB=1}
output %5
)");
  const auto nodes = graph.nodes();
  EXPECT_EQ(multiply_adds(graph, nodes[0]), 6 * 8 * 8 * 4 * 9);
  EXPECT_EQ(multiply_adds(graph, nodes[1]), 6 * 4 * 4 * 9);
  EXPECT_EQ(multiply_adds(graph, nodes[2]), 0);
  EXPECT_EQ(multiply_adds(graph, nodes[4]), 60);
}

}  // namespace
}  // namespace kinglet::engine
