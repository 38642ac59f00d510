// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include "tests/unit/engine_plan/plan_of.h"

namespace kinglet::engine {
namespace {

Plan plan_of(const Graph& graph) { return make_plan(graph, {}).value(); }

// Operators that XNNPACK lacks make a step each, so every value between them needs a place.
constexpr const char* kSteps = R"(
%x = input f32[1,1000]
%1 = Erf(%x)
%2 = Sin(%1)
%3 = Cos(%2)
%4 = Erf(%3)
%5 = Sin(%4)
output %5
)";

bool overlap(BufferPlan::Slot a, BufferPlan::Slot b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

TEST(Buffers, AreReusedWhenAValueIsDead) {
  const Graph graph = inferred(kSteps);
  const Plan plan = plan_of(graph);
  ASSERT_EQ(plan.buffers.slots.size(), 6U);
  // Input and output stay, two more take turns.
  EXPECT_LT(plan.buffers.arena_bytes, 5 * 4096U);
  EXPECT_GE(plan.buffers.arena_bytes, 4 * 4000U);
}

TEST(Buffers, OfAStepsInputAndOutputDoNotOverlap) {
  const Graph graph = inferred(kSteps);
  const Plan plan = plan_of(graph);
  for (const Step& step : plan.segments.steps) {
    for (const ValueId input : step.inputs) {
      for (const ValueId output : step.outputs) {
        EXPECT_FALSE(overlap(plan.buffers.slots.at(input), plan.buffers.slots.at(output)));
      }
    }
  }
}

// The scalar twin stands in the plan on every processor.
TEST(Buffers, OfAKernelsScratchLieBesideWhatItReadsAndWrites) {
  const Graph graph = inferred(R"(
%x = input i8[1,64,8,8]
%1 = QLinearConv(%x, s:f32[]{0.5}, z:i8[]{0}, w:i8[64,1,3,3]#w, s, z, t:f32[]{2}, z) {group=64, pads=[1,1,1,1], kinglet_integers=1}
%2 = QLinearConv(%1, t, z, w, s, z, t, z) {group=64, pads=[1,1,1,1], kinglet_integers=1}
%3 = DequantizeLinear(%2, t, z)
output %3
)");
  const PlanOptions options{
      .disabled_lowerings = {}, .refused = {}, .kernels = {.own = false, .forced = {"depthwise_s8__scalar"}}};
  const Plan plan = make_plan(graph, options).value();
  ASSERT_EQ(plan.buffers.scratch.size(), 2U);
  for (const auto& [index, slot] : plan.buffers.scratch) {
    const Step& step = plan.segments.steps[index];
    ASSERT_TRUE(step.kernel);
    EXPECT_EQ(slot.bytes, step.kernel->offer.scratch_bytes);
    for (const ValueId value : {step.inputs.at(0), step.outputs.at(0)})
      EXPECT_FALSE(overlap(slot, plan.buffers.slots.at(value)));
    EXPECT_LE(slot.offset + slot.bytes + kBufferSlack, plan.buffers.arena_bytes);
  }
}

TEST(Buffers, OfInputsAndOutputsOverlapNothing) {
  const Graph graph = inferred(kSteps);
  const Plan plan = plan_of(graph);
  for (const ValueId pinned : {graph.inputs()[0].value, graph.outputs()[0]}) {
    for (const auto& [value, slot] : plan.buffers.slots) {
      if (value == pinned) continue;
      EXPECT_FALSE(overlap(slot, plan.buffers.slots.at(pinned)));
    }
  }
}

TEST(Buffers, BeginAlignedAndHaveRoomBehind) {
  const Graph graph = inferred("%x = input f32[3]\n%1 = Erf(%x)\n%2 = Sin(%1)\noutput %2");
  const Plan plan = plan_of(graph);
  for (const auto& [value, slot] : plan.buffers.slots) {
    EXPECT_EQ(slot.offset % kBufferAlignment, 0U);
    EXPECT_EQ(slot.bytes, 12U);
    EXPECT_LE(slot.offset + slot.bytes + kBufferSlack, plan.buffers.arena_bytes);
  }
}

TEST(Buffers, OfValuesBeyondMemoryAreRefused) {
  const Graph graph = parse_text("%x = input f32[70000,70000]\n%1:f32[70000,70000] = Erf(%x)\noutput %1").value().graph;
  const auto plan = make_plan(graph, {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kBadData);
}

TEST(Plan, OfFreeSizesIsRefusedByName) {
  const Graph graph = inferred("%image = input f32[1,3,H,W]\n%1 = Relu(%image)\noutput %1");
  const auto plan = make_plan(graph, {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kBadData);
  EXPECT_NE(plan.error().message.find("image"), std::string::npos);
}

}  // namespace
}  // namespace kinglet::engine
