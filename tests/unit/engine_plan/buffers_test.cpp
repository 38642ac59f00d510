// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include <algorithm>
#include <array>
#include <format>

#include "tests/unit/engine_plan/plan_of.h"

namespace kinglet::engine {
namespace {

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
  const Placed plan = placed(graph);
  ASSERT_EQ(plan.buffers.slots.size(), 6U);
  // Input and output stay, two more take turns.
  EXPECT_LT(plan.buffers.arena_bytes, 5 * 4096U);
  EXPECT_GE(plan.buffers.arena_bytes, 4 * 4000U);
}

TEST(Buffers, OfAStepsInputAndOutputDoNotOverlap) {
  const Graph graph = inferred(kSteps);
  const Placed plan = placed(graph);
  for (const Step& step : plan.plan.segments.steps) {
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
  const Placed plan = placed(graph, options);
  ASSERT_EQ(plan.buffers.scratch.size(), 2U);
  for (const auto& [index, slot] : plan.buffers.scratch) {
    const Step& step = plan.plan.segments.steps[index];
    ASSERT_TRUE(step.kernel);
    EXPECT_EQ(slot.bytes, step.kernel->offer.scratch_bytes);
    for (const ValueId value : {step.inputs.at(0), step.outputs.at(0)})
      EXPECT_FALSE(overlap(slot, plan.buffers.slots.at(value)));
    EXPECT_LE(slot.offset + slot.bytes + kBufferSlack, plan.buffers.arena_bytes);
  }
}

TEST(Buffers, OfAKernelsOutputLiesOverAnInputThatNobodyElseReads) {
  const Graph graph = inferred(R"(
%x = input f32[1,500]
%1 = Erf(%x)
%2 = kinglet::Silu(%1)
%3 = Erf(%2)
%4 = kinglet::Silu(%3)
%5 = Mul(%3, %4)
output %5
)");
  const PlanOptions options{
      .disabled_lowerings = {}, .refused = {}, .kernels = {.own = false, .forced = {"silu_f32__scalar"}}};
  const Placed plan = placed(graph, options);
  std::vector<bool> over;
  for (const Step& step : plan.plan.segments.steps) {
    if (!step.kernel) continue;
    EXPECT_EQ(step.kernel->row->name, "silu_f32__scalar");
    over.push_back(overlap(plan.buffers.slots.at(step.inputs.at(0)), plan.buffers.slots.at(step.outputs.at(0))));
  }
  EXPECT_EQ(over, (std::vector<bool>{true, false}));
}

// The end of a ResNet's block, whose convolution reads %2, and something behind it.
bool lies_over_an_input(std::string_view added, std::string_view read_later) {
  const Graph graph = inferred(std::format(R"(
%x = input f32[1,8,6,6]
%1 = Conv(%x, w:f32[8,8,1,1]#w)
%2 = Conv(%1, w)
%3 = Conv(%2, w)
%4 = Add(%3, {})
%5 = Conv(%4, w)
%6 = Mul(%5, {})
output %6
)",
                                           added, read_later));
  const PlanOptions options{
      .disabled_lowerings = {}, .refused = {}, .kernels = {.own = false, .forced = {"woven_f32__scalar"}}};
  const Placed plan = placed(graph, options);
  const auto& steps = plan.plan.segments.steps;
  const auto step = std::ranges::find_if(steps, [](const Step& of) { return of.kernel && of.nodes.size() == 2; });
  if (step == steps.end()) throw std::runtime_error("no kernel takes the addition");
  const auto slot = [&](ValueId value) { return plan.buffers.slots.at(value); };
  return std::ranges::any_of(step->inputs,
                             [&](ValueId input) { return overlap(slot(input), slot(step->outputs.at(0))); });
}

TEST(Buffers, OfAKernelsOutputLiesOverWhatItAdds) { EXPECT_TRUE(lies_over_an_input("%1", "%5")); }
TEST(Buffers, OfAKernelsOutputLiesBesideWhatItAddsAndIsReadLater) { EXPECT_FALSE(lies_over_an_input("%1", "%1")); }
TEST(Buffers, OfAKernelsOutputLiesBesideWhatItAddsAndItsConvolutionReads) {
  EXPECT_FALSE(lies_over_an_input("%2", "%5"));
}

TEST(Buffers, OfInputsAndOutputsOverlapNothing) {
  const Graph graph = inferred(kSteps);
  const Placed plan = placed(graph);
  for (const ValueId pinned : {graph.inputs()[0].value, graph.outputs()[0]}) {
    for (const auto& [value, slot] : plan.buffers.slots) {
      if (value == pinned) continue;
      EXPECT_FALSE(overlap(slot, plan.buffers.slots.at(pinned)));
    }
  }
}

TEST(Buffers, BeginAlignedAndHaveRoomBehind) {
  const Graph graph = inferred("%x = input f32[3]\n%1 = Erf(%x)\n%2 = Sin(%1)\noutput %2");
  const Placed plan = placed(graph);
  for (const auto& [value, slot] : plan.buffers.slots) {
    EXPECT_EQ(slot.offset % kBufferAlignment, 0U);
    EXPECT_EQ(slot.bytes, 12U);
    EXPECT_LE(slot.offset + slot.bytes + kBufferSlack, plan.buffers.arena_bytes);
  }
}

// As the first layers of a MobileNet, where largest first leaves a hole beside the narrow one.
TEST(Buffers, OfAChainThatWidensTwiceAreWhatIsAliveAtOnce) {
  constexpr std::array<std::size_t, 12> kSizes{600, 1600, 1600, 800, 1200, 1200, 300, 1800, 1800, 300, 400, 100};
  std::string text = std::format("%0 = input f32[{}]\n", kSizes.front());
  for (std::size_t i = 1; i < kSizes.size(); ++i) text += std::format("%{}:f32[{}] = Erf(%{})\n", i, kSizes[i], i - 1);
  const Graph graph = parse_text(text + std::format("output %{}\n", kSizes.size() - 1)).value().graph;
  const Plan plan = make_plan(graph, {}).value();
  const std::vector<std::span<const xnn::ExternalValue>> none(plan.segments.steps.size());
  const BufferPlan buffers = plan_buffers(graph, plan.segments.steps, none).value();
  const std::size_t least = sizeof(float) * (600 + 1800 + 1800 + 100);
  EXPECT_GE(buffers.arena_bytes, least);
  EXPECT_LE(buffers.arena_bytes, least + 4 * (kBufferSlack + kBufferAlignment));
}

TEST(Buffers, OfValuesBeyondMemoryAreRefused) {
  const Graph graph = parse_text("%x = input f32[70000,70000]\n%1:f32[70000,70000] = Erf(%x)\noutput %1").value().graph;
  const Plan plan = make_plan(graph, {}).value();
  const std::vector<std::span<const xnn::ExternalValue>> none(plan.segments.steps.size());
  const auto buffers = plan_buffers(graph, plan.segments.steps, none);
  ASSERT_FALSE(buffers);
  EXPECT_EQ(buffers.error().code, ErrorCode::kBadData);
}

// --- Inside a segment ------------------------------------------------------------------------------------------------

constexpr std::size_t kWide = sizeof(float) * 64 * 16 * 16;    // 64 channels
constexpr std::size_t kNarrow = sizeof(float) * 16 * 16 * 16;  // 16 channels

// Blocks of a residual network; the layers between have a quarter of the channels.
std::string residual(int blocks) {
  std::string text = "%x = input f32[1,16,16,16]\n%a0 = Conv(%x, w0:f32[64,16,1,1]#w0)\n";
  for (int i = 1; i <= blocks; ++i) {
    text += std::format("%b{0} = Conv(%a{1}, u{0}:f32[16,64,1,1]#u{0})\n%c{0} = Relu(%b{0})\n", i, i - 1);
    text += std::format("%d{0} = Conv(%c{0}, v{0}:f32[64,16,1,1]#v{0})\n%e{0} = Add(%d{0}, %a{1})\n", i, i - 1);
    text += std::format("%a{0} = Relu(%e{0})\n", i);
  }
  return text + std::format("%y = GlobalAveragePool(%a{})\noutput %y\n", blocks);
}

TEST(Buffers, OfAResidualNetworkAreWhatIsAliveAtOnceHoweverManyBlocks) {
  PlanOptions in_one_segment;
  in_one_segment.kernels.own = false;
  for (const int blocks : {1, 2, 3, 8}) {
    const Placed plan = placed(inferred(residual(blocks)), in_one_segment);
    ASSERT_EQ(plan.plan.segments.steps.size(), 1U);
    const std::size_t input = kNarrow, output = sizeof(float) * 64;
    // What goes around a block and what comes out of it, and the narrow value that this is made of.
    const std::size_t least = input + output + 2 * kWide + kNarrow;
    EXPECT_GE(plan.buffers.arena_bytes, least) << blocks;
    EXPECT_LE(plan.buffers.arena_bytes, least + 5 * (kBufferSlack + kBufferAlignment)) << blocks;
  }
}

// The place of the segment's only external value that `matches`.
template <typename F>
BufferPlan::Slot slot_where(const Placed& plan, F matches) {
  const auto found = std::ranges::find_if(plan.externals.at(0), matches);
  EXPECT_NE(found, plan.externals.at(0).end());
  return plan.buffers.segments.at(0).at(static_cast<std::size_t>(found - plan.externals.at(0).begin()));
}

auto made_by(std::size_t node) {
  return [node](const xnn::ExternalValue& value) { return value.is_output && value.first == node; };
}

TEST(Buffers, AreWrittenOverByTheLastReaderOfTheSameSize) {
  const Placed plan = placed(inferred(R"(
%x = input f32[1,8]
%1 = Sigmoid(%x)
%2 = Tanh(%1)
%3 = Add(%2, s:f32[1]{2})
%4 = Reshape(%3, r:i64[2]{4,2})
%5 = MatMul(%4, m:f32[2,2]#m)
output %5
)"));
  ASSERT_EQ(plan.externals.at(0).size(), 6U);
  const std::size_t first = slot_where(plan, made_by(0)).offset;
  EXPECT_EQ(slot_where(plan, made_by(1)).offset, first);
  EXPECT_EQ(slot_where(plan, made_by(2)).offset, first);
  EXPECT_EQ(slot_where(plan, made_by(3)).offset, first);
  EXPECT_NE(slot_where(plan, made_by(4)).offset, first);
}

TEST(Buffers, AreNotWrittenOverWhileTheyAreStillReadOrReadFromOtherPlaces) {
  for (const char* reader :
       {"%2 = Tanh(%1)\n%3 = Mul(%1, %2)\n", "%2 = Transpose(%1) {perm=[0,2,1]}\n%3 = Add(%2, %2)\n"}) {
    const Placed plan = placed(inferred(
        std::format("%x = input f32[1,8,8]\n%1 = Sigmoid(%x)\n{}%4 = MatMul(%3, m:f32[8,8]#m)\noutput %4\n", reader)));
    EXPECT_FALSE(overlap(slot_where(plan, made_by(0)), slot_where(plan, made_by(1)))) << reader;
  }
}

TEST(Buffers, OfTheCallerAreNotWrittenOver) {
  const Graph graph = inferred("%x = input f32[1,8]\n%1 = Sigmoid(%x)\n%2 = Tanh(%1)\noutput %1, %2");
  const Placed plan = placed(graph);
  const auto slot = [&](ValueId id) { return plan.buffers.slots.at(id); };
  EXPECT_FALSE(overlap(slot(graph.inputs()[0].value), slot(graph.outputs()[0])));
  EXPECT_FALSE(overlap(slot(graph.outputs()[0]), slot(graph.outputs()[1])));
}

TEST(Buffers, OfWhatAnotherStepReadsLaterAreNotWrittenOver) {
  const Graph graph = inferred(R"(
%x = input f32[1,8]
%1 = Erf(%x)
%2 = Sigmoid(%1)
%3 = Erf(%2)
%4 = Add(%3, %1)
output %4
)");
  const Placed plan = placed(graph);
  ASSERT_EQ(plan.plan.segments.steps.size(), 4U);
  const Step& sigmoid = plan.plan.segments.steps[1];
  ASSERT_TRUE(sigmoid.lowered);
  EXPECT_FALSE(overlap(plan.buffers.slots.at(sigmoid.inputs.at(0)), plan.buffers.slots.at(sigmoid.outputs.at(0))));
}

TEST(Buffers, AreHalfAsLargeForWhatLiesAsFloat16) {
  PlanOptions options{.disabled_lowerings = {}, .refused = {}, .half = true};
  options.kernels = {.own = false, .forced = {"woven_f16__scalar"}};
  const Graph graph = inferred(R"(
%x = input f32[1,8,6,6]
%1 = Conv(%x, a:f32[8,8,1,1]#a)
%2 = Conv(%1, b:f32[8,8,1,1]#b)
%3 = Sigmoid(%2)
output %3
)");
  const Placed plan = placed(graph, options);
  ASSERT_EQ(plan.plan.segments.steps.size(), 3U);
  const Step& kernel = plan.plan.segments.steps[1];
  ASSERT_TRUE(kernel.kernel);
  for (const ValueId value : {kernel.inputs.at(0), kernel.outputs.at(0)})
    EXPECT_EQ(plan.buffers.slots.at(value).bytes, std::size_t{8 * 6 * 6 * 2});
  EXPECT_EQ(plan.buffers.slots.at(graph.outputs()[0]).bytes, std::size_t{8 * 6 * 6 * 4});
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
