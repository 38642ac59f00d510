// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/plan.h"

#include "tests/unit/engine_plan/plan_of.h"

namespace kinglet::engine {
namespace {

Segments cut(const Graph& graph, const PlanOptions& options = {}) {
  return cut_segments(graph, assign_layouts(graph), options);
}

std::vector<std::string> operators(const Graph& graph, const Step& step) {
  std::vector<std::string> out;
  for (const NodeId id : step.nodes) out.push_back(graph.node(id).op_type);
  return out;
}

using Operators = std::vector<std::vector<std::string>>;  // of each step
Operators operators(const Graph& graph, const Segments& segments) {
  Operators out;
  for (const Step& step : segments.steps) out.push_back(operators(graph, step));
  return out;
}

constexpr const char* kChain = R"(
%x = input f32[1,3,8,8]
%1 = Conv(%x, w:f32[4,3,3,3]#w)
%2 = Sigmoid(%1)
%3 = Mul(%1, %2)
%4 = GlobalAveragePool(%3)
output %4
)";

TEST(Segments, AreOneWhereEverythingLowers) {
  const Graph graph = inferred(kChain);
  const Segments segments = cut(graph);
  ASSERT_EQ(segments.steps.size(), 1U);
  EXPECT_TRUE(segments.steps[0].lowered);
  EXPECT_EQ(segments.steps[0].inputs, std::vector<ValueId>{graph.inputs()[0].value});
  EXPECT_EQ(segments.steps[0].outputs, std::vector<ValueId>{graph.outputs()[0]});
  EXPECT_TRUE(segments.fallbacks.empty());
}

TEST(Segments, AreCutAroundASwitchedOffOperator) {
  const Graph graph = inferred(kChain);
  const Segments segments = cut(graph, {.disabled_lowerings = {"Sigmoid"}, .refused = {}});
  ASSERT_EQ(operators(graph, segments), (Operators{{"Conv"}, {"Sigmoid"}, {"Mul", "GlobalAveragePool"}}));
  EXPECT_FALSE(segments.steps[1].lowered);
  // The product reads the convolution from two steps back.
  EXPECT_EQ(segments.steps[2].inputs.size(), 2U);
  ASSERT_EQ(segments.fallbacks.size(), 1U);
  EXPECT_EQ(segments.fallbacks[0].reason, "switched off");
}

TEST(Segments, LeaveOutANodeThatTheBackendTurnedDown) {
  const Graph graph = inferred(kChain);
  const NodeId refused = graph.nodes()[1];
  const Segments segments = cut(graph, {.disabled_lowerings = {}, .refused = {refused}});
  ASSERT_EQ(segments.fallbacks.size(), 1U);
  EXPECT_EQ(segments.fallbacks[0].node, refused);
}

TEST(Segments, SayWhyANodeRunsByEvaluate) {
  const Graph graph = inferred("%x = input f32[4]\n%1 = Erf(%x)\n%2 = Relu(%1)\noutput %2");
  const Segments segments = cut(graph);
  ASSERT_EQ(segments.steps.size(), 2U);
  ASSERT_EQ(segments.fallbacks.size(), 1U);
  EXPECT_EQ(segments.fallbacks[0].reason, "no XNNPACK form of this operator");
}

// Two branches that both leave XNNPACK: what follows is one segment again, and nothing is read before it is made.
TEST(Segments, JoinBranchesAgain) {
  const Graph graph = inferred(R"(
%x = input f32[1,3,8,8]
%1 = Relu(%x)
%2 = Erf(%1)
%3 = Sin(%1)
%4 = Tanh(%2)
%5 = Sigmoid(%3)
%6 = Add(%4, %5)
output %6
)");
  const Segments segments = cut(graph);
  std::vector<std::size_t> lowered;
  std::set<ValueId> made{graph.inputs()[0].value};
  for (const Step& step : segments.steps) {
    for (const ValueId input : step.inputs) EXPECT_TRUE(made.contains(input));
    made.insert(step.outputs.begin(), step.outputs.end());
    if (step.lowered) lowered.push_back(step.nodes.size());
  }
  EXPECT_EQ(lowered, (std::vector<std::size_t>{1, 3}));
}

TEST(Segments, KeepAResultThatNobodyReads) {
  const Graph graph = inferred(R"(
%x = input f32[1,6,2,2]
%1, %2 = Split(%x, s:i64[2]{3,3}) {axis=1}
output %1
)");
  const Segments segments = cut(graph);
  ASSERT_EQ(segments.steps.size(), 1U);
  EXPECT_EQ(segments.steps[0].outputs.size(), 2U);
}

// --- Who has the workers last ---------------------------------------------------------------------------------------

TEST(Segments, TheLastWithTheWorkersIsXnnpacksOrAKernelOfOurs) {
  PlanOptions options{
      .disabled_lowerings = {}, .refused = {}, .kernels = {.own = false, .forced = {"silu_f32__scalar"}}};
  const Graph kernel_last = inferred("%x = input f32[1,500]\n%1 = Sqrt(%x)\n%2 = kinglet::Silu(%1)\noutput %2\n");
  Segments segments = cut(kernel_last, options);
  ASSERT_EQ(operators(kernel_last, segments), (Operators{{"Sqrt"}, {"Silu"}}));
  EXPECT_EQ(segments.last_of_workers(), 1U);
  const Graph between =
      inferred("%x = input f32[1,500]\n%1 = Sqrt(%x)\n%2 = kinglet::Silu(%1)\n%3 = Abs(%2)\n%4 = Erf(%3)\noutput %4\n");
  segments = cut(between, options);
  ASSERT_EQ(operators(between, segments), (Operators{{"Sqrt"}, {"Silu"}, {"Abs"}, {"Erf"}}));
  EXPECT_EQ(segments.last_of_workers(), 2U) << "evaluate runs on the caller's thread";
  EXPECT_EQ(cut(inferred("%x = input f32[4]\n%1 = Erf(%x)\noutput %1")).last_of_workers(), std::nullopt);
}

// --- What ends a block -----------------------------------------------------------------------------------------------

const PlanOptions kWinograd{
    .disabled_lowerings = {}, .refused = {}, .kernels = {.own = false, .forced = {"winograd4_f32__scalar"}}};

TEST(Segments, TakeTheAdditionBehindAKernelIntoIt) {
  // The other way to the addition is made after the kernel's own input, as exports write a block with a new width.
  const Graph graph = inferred(R"(
%x = input f32[1,8,6,6]
%1 = Conv(%x, w:f32[16,8,3,3]#w) {pads=[1,1,1,1]}
%2 = Conv(%x, v:f32[16,8,1,1]#v)
%3 = Add(%1, %2) {kinglet_min=0.0}
%4 = GlobalAveragePool(%3)
output %4
)");
  const Segments segments = cut(graph, kWinograd);
  ASSERT_EQ(operators(graph, segments), (Operators{{"Conv"}, {"Conv", "Add"}, {"GlobalAveragePool"}}));
  const Step& block = segments.steps[1];
  ASSERT_TRUE(block.kernel);
  EXPECT_EQ(block.inputs, (std::vector<ValueId>{graph.inputs()[0].value, graph.node(graph.nodes()[1]).outputs[0]}));
  EXPECT_EQ(block.outputs, graph.node(graph.nodes()[2]).outputs);
  EXPECT_TRUE(segments.steps[2].lowered);
}

TEST(Segments, LeaveAnAdditionThatAKernelCannotEndWith) {
  const char* kBehind[] = {
      "%2 = Add(%1, %x)\n%3 = Add(%2, %1)",                           // two read the convolution
      "%2 = Add(%1, c:f32[1,8,6,6]#c)\n%3 = Relu(%2)",                // a constant
      "%4 = GlobalAveragePool(%x)\n%2 = Add(%1, %4)\n%3 = Relu(%2)",  // one number a channel
      "%2 = Sub(%1, %x)\n%3 = Relu(%2)",
  };
  for (const char* behind : kBehind) {
    const Graph graph =
        inferred(std::format("%x = input f32[1,8,6,6]\n%1 = Conv(%x, w:f32[8,8,3,3]#w) {{pads=[1,1,1,1]}}\n{}\n%9 = "
                             "GlobalAveragePool(%3)\noutput %9\n",
                             behind));
    const Segments segments = cut(graph, kWinograd);
    const auto kernel = std::ranges::find_if(segments.steps, [](const Step& step) { return step.kernel.has_value(); });
    ASSERT_NE(kernel, segments.steps.end()) << behind;
    EXPECT_EQ(kernel->nodes.size(), 1U) << behind;
  }
}

TEST(Segments, HaveNoKernelThatTheMemoryIsTooSmallFor) {
  const Graph graph = inferred(R"(
%x = input f32[1,8,6,6]
%1 = Conv(%x, w:f32[8,8,3,3]#w)
%2 = Conv(%1, v:f32[8,8,3,3]#v)
%3 = GlobalAveragePool(%2)
output %3
)");
  const std::size_t one = 36 * 8 * 8 * sizeof(float);
  for (const std::ptrdiff_t kernels : {0, 1, 2}) {
    PlanOptions options = kWinograd;
    options.kernels.most_bytes = static_cast<std::size_t>(kernels) * one + one * 3 / 4;
    const Segments segments = cut(graph, options);
    EXPECT_EQ(std::ranges::count_if(segments.steps, [](const Step& step) { return step.kernel.has_value(); }), kernels);
  }
}

TEST(Segments, LeaveAnAdditionBehindAClip) {
  const Graph graph = inferred(R"(
%x = input f32[1,8,6,6]
%1 = Conv(%x, w:f32[8,8,3,3]#w) {kinglet_min=0.0, pads=[1,1,1,1]}
%2 = Add(%1, %x)
%3 = GlobalAveragePool(%2)
output %3
)");
  EXPECT_EQ(operators(graph, cut(graph, kWinograd).steps.front()), std::vector<std::string>{"Conv"});
}

TEST(Segments, GiveAnAdditionOfTwoKernelsToOne) {
  const Graph graph = inferred(R"(
%x = input f32[1,8,6,6]
%1 = Conv(%x, w:f32[8,8,3,3]#w) {pads=[1,1,1,1]}
%2 = Conv(%x, v:f32[8,8,3,3]#v) {pads=[1,1,1,1]}
%3 = Add(%1, %2)
%4 = GlobalAveragePool(%3)
output %4
)");
  EXPECT_EQ(operators(graph, cut(graph, kWinograd)), (Operators{{"Conv"}, {"Conv", "Add"}, {"GlobalAveragePool"}}));
}

// --- Float16 ---------------------------------------------------------------------------------------------------------

std::vector<std::string> in_half(const Graph& graph, const Segments& segments) {
  std::vector<std::string> out;
  for (const Step& step : segments.steps) {
    for (const NodeId id : step.halves) out.push_back(graph.node(id).op_type);
  }
  return out;
}

TEST(Segments, ComputeProductsInFloat16AndWhatStandsBehindThem) {
  const Graph graph = inferred(R"(
%x = input f32[1,3,8,8]
%1 = HardSwish(%x)
%2 = Conv(%1, w:f32[4,3,3,3]#w)
%3 = Sigmoid(%2)
%4 = Mul(%2, %3)
%5 = Exp(%4)
%6 = Sigmoid(%5)
output %6
)");
  EXPECT_TRUE(in_half(graph, cut(graph)).empty());
  const Segments segments = cut(graph, {.disabled_lowerings = {}, .refused = {}, .half = true});
  EXPECT_EQ(in_half(graph, segments), (std::vector<std::string>{"Conv", "Sigmoid", "Mul"}));
  EXPECT_EQ(segments.steps.size(), 1U) << "conversions are no border";
  const auto built = build_segment(graph, assign_layouts(graph), segments.steps[0]);
  ASSERT_TRUE(built) << describe(built.error().error);
  const auto single = build_segment(graph, assign_layouts(graph), cut(graph).steps[0]);
  ASSERT_TRUE(single) << describe(single.error().error);
  EXPECT_EQ(built->nodes.size(), single->nodes.size() + 2) << "in and out";
}

TEST(Segments, ComputeInFloat32WhatFloat16WasRefusedFor) {
  const Graph graph = inferred(kChain);
  PlanOptions options{.disabled_lowerings = {}, .refused = {}, .half = true};
  options.refused_halves.insert(graph.nodes()[1]);
  const Segments segments = cut(graph, options);
  EXPECT_EQ(in_half(graph, segments), (std::vector<std::string>{"Conv", "Mul", "GlobalAveragePool"}));
  EXPECT_TRUE(segments.fallbacks.empty());
}

TEST(Segments, HaveAKernelBesideFloat16OnlyWhereItCostsLessThanHalf) {
  const Graph graph = inferred(R"(
%x = input f32[1,64,28,28]
%1 = Conv(%x, w:f32[64,64,3,3]#w) {pads=[1,1,1,1]}
output %1
)");
  const auto kernel = choose_kernel(graph, assign_layouts(graph), graph.nodes()[0], {});
  const Segments segments = cut(graph, {.disabled_lowerings = {}, .refused = {}, .half = true});
  const bool is_cheap = kernel && kernel->offer.cost < 0.5;
  EXPECT_EQ(segments.steps[0].kernel.has_value(), is_cheap);
  EXPECT_EQ(segments.steps[0].halves.empty(), is_cheap);
}

PlanOptions with_kernels_of_halves() {
  PlanOptions options{.disabled_lowerings = {}, .refused = {}, .half = true};
  options.kernels = {.own = false, .forced = {"woven_f16__scalar"}};
  return options;
}

std::vector<std::string> names_of(const Graph& graph, const std::set<ValueId>& values) {
  std::vector<std::string> names;
  for (const ValueId id : values) names.push_back(graph.value(id).name);
  std::ranges::sort(names);
  return names;
}

// The first layer reads the picture, which is float32, and converts it; XNNPACK converts for `Exp` and the answer.
TEST(Segments, AreFloat16BetweenKernelsOfFloat16AndXnnpack) {
  const Graph graph = inferred(R"(
%x = input f32[1,8,6,6]
%1 = Conv(%x, a:f32[8,8,1,1]#a)
%2 = Conv(%1, b:f32[8,8,1,1]#b)
%3 = Conv(%2, c:f32[8,8,3,3]#c) {pads=[1,1,1,1]}
%4 = Add(%3, %1)
%5 = Exp(%4)
%6 = Conv(%5, d:f32[8,8,1,1]#d)
output %6
)");
  const Segments segments = cut(graph, with_kernels_of_halves());
  ASSERT_EQ(operators(graph, segments), (Operators{{"Conv"}, {"Conv"}, {"Conv", "Add"}, {"Exp", "Conv"}}));
  EXPECT_EQ(in_half(graph, segments), (std::vector<std::string>{"Conv", "Conv", "Conv", "Add", "Conv"}));
  EXPECT_TRUE(segments.steps[0].kernel && segments.steps[0].kernel->from_floats);
  EXPECT_TRUE(segments.steps[1].kernel && !segments.steps[1].kernel->from_floats);
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(graph, segments.steps[0].half_values), Names{"1"});
  EXPECT_EQ(names_of(graph, segments.steps[1].half_values), (Names{"1", "2"}));
  EXPECT_EQ(names_of(graph, segments.steps[2].half_values), (Names{"1", "2", "4"}));
  EXPECT_EQ(names_of(graph, segments.steps[3].half_values), Names{"4"});
  for (const Step& step : segments.steps) {
    if (!step.lowered) continue;
    const auto built = build_segment(graph, assign_layouts(graph), step);
    ASSERT_TRUE(built) << describe(built.error().error);
    for (const xnn::ExternalValue& external : built->externals) {
      if (external.value == kNoValue) continue;
      EXPECT_EQ(external.bytes, std::size_t{8 * 6 * 6} * (step.half_values.contains(external.value) ? 2 : 4));
    }
  }
}

// Who cannot convert stands beside XNNPACK: evaluate, and kernels of float32.
TEST(Segments, HaveNoKernelOfFloat16BesideWhatReadsFloat32) {
  const Graph graph = inferred(R"(
%x = input f32[1,8,6,6]
%1 = Conv(%x, a:f32[8,8,1,1]#a)
%2 = Conv(%1, b:f32[8,8,1,1]#b)
%3 = Add(%2, %1)
%4 = Sigmoid(%3)
output %4
)");
  PlanOptions options = with_kernels_of_halves();
  EXPECT_EQ(operators(graph, cut(graph, options)), (Operators{{"Conv"}, {"Conv", "Add"}, {"Sigmoid"}}));
  options.disabled_lowerings = {"Sigmoid"};
  const Segments segments = cut(graph, options);
  EXPECT_EQ(operators(graph, segments), (Operators{{"Conv"}, {"Conv", "Add"}, {"Sigmoid"}}));
  EXPECT_EQ(in_half(graph, segments), (std::vector<std::string>{"Conv", "Conv", "Add"}));
  EXPECT_FALSE(segments.steps[1].kernel);
  EXPECT_EQ(names_of(graph, segments.steps[1].half_values), std::vector<std::string>{"1"});
}

TEST(Segments, HaveNoKernelOfAProductThatIsCutAtBounds) {
  const auto is_taken = [](std::string_view attributes) {
    const Graph graph = inferred(std::string("%x = input f32[3,8]\n%1 = MatMul(%x, w:f32[8,32]#w) ") +
                                 std::string(attributes) + "\noutput %1\n");
    return choose_kernel(graph, assign_layouts(graph), graph.nodes()[0], {.forced = {"panels_f32__scalar"}})
        .has_value();
  };
  EXPECT_TRUE(is_taken(""));
  EXPECT_FALSE(is_taken("{kinglet_min=0.0}"));
}

// Some pay but for the addition behind them.
TEST(Segments, LeaveToXnnpackWhatCostsMoreWithItsAddition) {
  const Graph graph = inferred(R"(
%x = input f32[1,512,7,7]
%y = input f32[1,2048,7,7]
%1 = MaxPool(%y) {kernel_shape=[3,3], pads=[1,1,1,1]}
%2 = Conv(%x, w:f32[2048,512,1,1]#w)
%3 = Add(%2, %1)
%4 = Abs(%3)
output %4
)");
  const auto alone = choose_kernel(graph, assign_layouts(graph), graph.nodes()[1], {});
  if (!alone || alone->row->name != "panels_f32__avx512") GTEST_SKIP() << "this processor has no such kernel";
  const Segments segments = cut(graph, {});
  ASSERT_EQ(segments.steps.size(), 1);
  EXPECT_TRUE(segments.steps[0].lowered);
  PlanOptions forced;
  forced.kernels.forced = {"panels_f32__avx512"};
  EXPECT_TRUE(std::ranges::any_of(cut(graph, forced).steps,
                                  [](const Step& step) { return step.nodes.size() == 2 && step.kernel; }));
}

}  // namespace
}  // namespace kinglet::engine
