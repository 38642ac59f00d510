// SPDX-License-Identifier: Apache-2.0
// Which values of a segment lie where we say, and from when to when: all but those that XNNPACK joins away.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/backend/xnnpack/runtime.h"
#include "engine/plan/plan.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine::xnn {
namespace {

SubgraphBuilder::Built built(const char* text) {
  const Graph graph = parse_text(text).value().graph;
  const Plan plan = make_plan(graph, {}).value();
  EXPECT_EQ(plan.segments.steps.size(), 1U);
  return build_segment(graph, plan.layouts, plan.segments.steps[0]).value();
}

// What XNNPACK runs, after it joined what it joins.
std::size_t operators_of(SubgraphBuilder::Built segment) {
  const auto packed = packed_in_memory();
  auto runtime = Runtime::create(std::move(segment), *packed, nullptr, {.time_nodes = true}).value();
  std::vector<TensorBuffer> memory;
  std::vector<void*> pointers;
  for (const ExternalValue& external : runtime.externals())
    pointers.push_back(memory.emplace_back(external.bytes).data());
  EXPECT_TRUE(runtime.bind(pointers));
  EXPECT_TRUE(runtime.invoke());
  return runtime.profile().value().size();
}

constexpr const char* kClampBehindLayer = R"(
%x = input f32[1,4,8,8]
%1:f32[1,4,8,8] = Conv(%x, w:f32[4,4,1,1]#w)
%2:f32[1,4,8,8] = Sigmoid(%x)
%3:f32[1,4,8,8] = Relu(%1)
%4:f32[1,4,8,8] = Conv(%3, v:f32[4,4,1,1]#v)
%5:f32[1,4,8,8] = Add(%4, %2)
%6:f32[1,4,1,1] = GlobalAveragePool(%5)
output %6
)";

TEST(ExternalValues, AreNotThoseBeforeAClampThatALayerDoes) {
  const auto segment = built(kClampBehindLayer);
  // The convolution is the first node and writes what the clamp, the third, was to write. The last changes the layout.
  std::vector<std::pair<std::size_t, std::size_t>> inside;
  for (const ExternalValue& value : segment.externals) {
    if (value.value == kNoValue) inside.emplace_back(value.first, value.last);
  }
  const std::vector<std::pair<std::size_t, std::size_t>> expected{{0, 3}, {1, 4}, {3, 4}, {4, 5}, {5, 6}};
  std::ranges::sort(inside);
  EXPECT_EQ(inside, expected);
}

TEST(ExternalValues, LeaveAClampToItsLayer) {
  auto segment = built(kClampBehindLayer);
  const std::size_t nodes = segment.nodes.size();
  EXPECT_EQ(operators_of(std::move(segment)), nodes - 1);
}

constexpr const char* kPadBeforeLayer = R"(
%x = input f32[1,4,8,8]
%1:f32[1,4,8,8] = Sigmoid(%x)
%2:f32[1,4,10,10] = Pad(%1, p:i64[8]{0,0,1,1,0,0,1,1})
%3:f32[1,4,8,8] = Sigmoid(%x)
%4:f32[1,4,8,8] = Conv(%2, w:f32[4,4,3,3]#w)
%5:f32[1,4,8,8] = Add(%4, %3)
%6:f32[1,4,1,1] = GlobalAveragePool(%5)
output %6
)";

TEST(ExternalValues, StayUntilTheConvolutionThatTakesThePaddingBetween) {
  const auto segment = built(kPadBeforeLayer);
  const auto padded = std::ranges::find(segment.nodes, "Constant Pad", &DefinedNode::kind);
  ASSERT_NE(padded, segment.nodes.end());
  const auto at = static_cast<std::size_t>(padded - segment.nodes.begin());
  const auto made_by = [&](std::size_t node) {
    return std::ranges::find_if(segment.externals,
                                [&](const ExternalValue& value) { return value.is_output && value.first == node; });
  };
  EXPECT_EQ(made_by(at), segment.externals.end()) << "the padded value is nowhere";
  const auto before = made_by(at - 1);
  ASSERT_NE(before, segment.externals.end());
  EXPECT_EQ(segment.nodes.at(before->last).kind, "Convolution");
}

TEST(ExternalValues, LeaveAPaddingToItsConvolution) {
  auto segment = built(kPadBeforeLayer);
  const std::size_t nodes = segment.nodes.size();
  EXPECT_EQ(operators_of(std::move(segment)), nodes - 1);
}

TEST(ExternalValues, AreThoseBeforeAClampThatIsANodeOfItsOwn) {
  auto segment = built(R"(
%x = input f32[1,8]
%1:f32[1,8] = Sigmoid(%x)
%2:f32[1,8] = Add(%1, %x)
%3:f32[1,8] = Relu(%2)
output %3
)");
  ASSERT_EQ(segment.externals.size(), 4U);
  const ExternalValue& output = segment.externals[1];
  const ExternalValue& sum = segment.externals[3];
  EXPECT_EQ(output.over, std::vector<std::size_t>{3});
  EXPECT_EQ(sum.over, (std::vector<std::size_t>{2, 0}));  // whose the input is, the segment does not know
  const std::size_t nodes = segment.nodes.size();
  EXPECT_EQ(operators_of(std::move(segment)), nodes);
}

TEST(ExternalValues, AreNotWrittenOverWhatIsSpreadOverThem) {
  const auto segment = built(R"(
%x = input f32[4,4]
%1:f32[4,1] = ReduceMean(%x, a:i64[1]{1})
%2:f32[4,4] = Mul(%1, %x)
%3:f32[4,4] = Sigmoid(%2)
output %3
)");
  for (const ExternalValue& value : segment.externals) {
    for (const std::size_t other : value.over) EXPECT_EQ(segment.externals.at(other).bytes, value.bytes);
  }
}

}  // namespace
}  // namespace kinglet::engine::xnn
