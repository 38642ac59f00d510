// SPDX-License-Identifier: Apache-2.0
// optimize_model: the report, the proof, and what happens when a pass is wrong or makes the file bigger.
#include "engine/session/optimize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <format>

#include "engine/graph/float16.h"
#include "engine/ops/op.h"
#include "tests/support/graph_of.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

using ::testing::HasSubstr;

Graph small_net() {
  return graph_of(R"(%x = input f32[N,3,8,8]
%1 = Conv(%x, w:f32[4,3,3,3]#a) {pads=[1,1,1,1]}
%2 = BatchNormalization(%1, s:f32[4]#b, b:f32[4]#c, m:f32[4]#d, v:f32[4]#+e)
%3 = Relu(%2)
%4 = Identity(%3)
%5 = GlobalAveragePool(%4)
%6 = Flatten(%5)
%7 = Gemm(%6, g:f32[4,5]#g, h:f32[5]#h)
output %7
)");
}

// The real passes, and behind them one that negates the weight of the Gemm: as wrong as a pass can be.
Result<PassReport> run_with_planted_fault(Graph& graph, const PassOptions& options) {
  PassReport report = KINGLET_TRY(run_passes(graph, options));
  if (report.rewrite_count() >= options.stop_after_rewrites) return report;
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).op_type != "Gemm") continue;
    const ValueId weight = graph.node(id).inputs[1];
    Tensor changed = *graph.constant(weight);
    for (float& x : changed.mutable_data<float>()) x = -x;
    graph.set_constant(weight, std::move(changed));
    report.rewrites.push_back({"planted_fault", graph.node(id).name, "Gemm"});
  }
  return report;
}

TEST(OptimizeModel, CountsOperatorsAndParametersBeforeAndAfter) {
  const auto done = optimize_model(small_net());
  ASSERT_TRUE(done) << describe(done.error());
  const OptimizeReport& report = done->report;
  EXPECT_EQ(report.before.nodes, 7U);
  EXPECT_EQ(report.after.nodes, 5U);
  EXPECT_EQ(report.before.operators.at("BatchNormalization"), 1U);
  EXPECT_FALSE(report.after.operators.contains("BatchNormalization"));
  EXPECT_EQ(report.before.parameters, 108 + 16 + 20 + 5);
  EXPECT_EQ(report.after.parameters, 108 + 4 + 20 + 5);
  EXPECT_EQ(report.after.constant_bytes, report.after.parameters * 4);
}

TEST(OptimizeModel, ProvesItselfOnFourSetsOfInputsWhenTheBatchIsFree) {
  const auto done = optimize_model(small_net());
  ASSERT_TRUE(done) << describe(done.error());
  const Comparison& proof = done->report.proof;
  EXPECT_TRUE(proof.same);
  EXPECT_EQ(proof.inputs, 4);
  EXPECT_GT(proof.limit, 0);
  EXPECT_LE(proof.max_error, proof.limit);
  EXPECT_GT(proof.top1_compared, 0);
  EXPECT_EQ(proof.top1_same, proof.top1_compared);
}

// Rounding to 11 bits differs where nodes are joined: that is no other answer.
Graph net_of_halves(int channels, int size) {
  return graph_of(std::format(R"(%x = input f16[1,{0},{1},{1}]
%1:f16 = Conv(%x, w:f16[{2},{0},3,3]#w, d:f16[{2}]#d) {{pads=[1,1,1,1]}}
%2:f16 = BatchNormalization(%1, s:f16[{2}]#+s, b:f16[{2}]#b, m:f16[{2}]#m, v:f16[{2}]#+v)
%3:f16 = Relu(%2)
%4:f16 = Conv(%3, w4:f16[5,{2},1,1]#w4)
%5:f16 = Mul(%4, f:f16[5,1,1]#f)
%6:f16 = GlobalAveragePool(%5)
%7:f16 = Flatten(%6)
%8:f16 = Gemm(%7, g:f16[5,5]#g, h:f16[5]#h)
output %3, %5, %8
)",
                              channels, size, 2 * channels));
}

TEST(OptimizeModel, ProvesGraphsOfFloat16WithinTheirRounding) {
  for (const int channels : {1, 3, 8, 24}) {
    const auto done = optimize_model(net_of_halves(channels, 6));
    ASSERT_TRUE(done) << describe(done.error());
    EXPECT_FALSE(done->report.after.operators.contains("BatchNormalization"));
    EXPECT_GT(done->report.proof.max_error, 0);
    EXPECT_LT(done->report.proof.limit, 0.05 * std::max(1.0, done->report.proof.largest_output));
  }
}

TEST(OptimizeModel, RefusesAWrongRewriteOfFloat16) {
  const auto wrong = [](Graph& graph, const PassOptions& options) -> Result<PassReport> {
    PassReport report = KINGLET_TRY(run_passes(graph, options));
    if (report.rewrite_count() >= options.stop_after_rewrites) return report;
    for (const NodeId id : graph.nodes()) {
      if (graph.node(id).op_type != "Relu") continue;
      graph.set_op_type(id, "", "Identity");
      report.rewrites.push_back({"planted_fault", graph.node(id).name, "Relu"});
    }
    return report;
  };
  const auto done = optimize_model_with(net_of_halves(3, 6), {}, wrong);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kInternal);
}

TEST(OptimizeModel, RefusesAWrongRewriteAndNamesIt) {
  const auto done = optimize_model_with(small_net(), {}, run_with_planted_fault);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kInternal);
  EXPECT_THAT(done.error().message, HasSubstr("planted_fault"));
  EXPECT_THAT(done.error().message, HasSubstr("output \""));
  EXPECT_THAT(done.error().where, HasSubstr("rewrite 7 of 7"));
  EXPECT_THAT(done.error().where, HasSubstr("Gemm"));
  EXPECT_THAT(done.error().hint, HasSubstr("--skip planted_fault"));
}

TEST(OptimizeModel, TakesAnythingWithoutProof) {
  const auto done = optimize_model_with(small_net(), {.prove = false}, run_with_planted_fault);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->report.proof.inputs, 0);
}

TEST(OptimizeModel, LeavesTheOriginalAlone) {
  const Graph graph = small_net();
  const std::string before = to_text(graph);
  ASSERT_TRUE(optimize_model(graph));
  EXPECT_EQ(to_text(graph), before);
}

TEST(OptimizeModel, PassesTheChoiceOfPassesOn) {
  const auto done = optimize_model(small_net(), {.only = {"eliminate_identity"}});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->report.after.nodes, 6U);
  const auto unknown = optimize_model(small_net(), {.only = {"eliminate_identities"}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kUsage);
}

// 400 KB of one number: within the allowance for folding, beyond what a file may grow.
constexpr std::string_view kGrowing = R"(%x = input f32[1,100000]
%1 = ConstantOfShape(s:i64[2]{1,100000}) {value=f32[1]{0.5}}
%2 = Add(%x, %1)
output %2
)";

TEST(OptimizeModel, FoldsLessWhenTheFileWouldGrow) {
  const auto done = optimize_model(graph_of(kGrowing));
  ASSERT_TRUE(done) << describe(done.error());
  EXPECT_TRUE(done->report.folded_less);
  EXPECT_EQ(done->report.after.nodes, 2U);
}

TEST(OptimizeModel, GrowsWhenAskedTo) {
  const auto done = optimize_model(graph_of(kGrowing), {.allow_growth = true});
  ASSERT_TRUE(done) << describe(done.error());
  EXPECT_FALSE(done->report.folded_less);
  EXPECT_EQ(done->report.after.nodes, 1U);
}

// Two convolutions share a weight of 256 KiB, and each has a BatchNormalization of its own.
TEST(OptimizeModel, RefusesToGrowBySplittingSharedWeights) {
  const Graph graph = graph_of(R"(%x = input f32[1,256,1,1]
%1 = Conv(%x, w:f32[256,256,1,1]#w)
%2 = BatchNormalization(%1, s:f32[256]#s, b:f32[256]#b, m:f32[256]#m, v:f32[256]#+v)
%3 = Conv(%x, w)
%4 = BatchNormalization(%3, t:f32[256]#t, c:f32[256]#c, n:f32[256]#n, u:f32[256]#+u)
%5 = Add(%2, %4)
output %5
)");
  const auto done = optimize_model(graph);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kBadData);
  EXPECT_THAT(done.error().hint, HasSubstr("--allow-growth"));
}

TEST(CompareGraphs, SeesADifferenceThatOnlyNegativeInputsShow) {
  const Graph right = graph_of(R"(%x = input f32[1,1,4,4]
%1 = Pad(%x, p:i64[8]{0,0,1,1,0,0,1,1}, v:f32[]{0})
%y = MaxPool(%1) {kernel_shape=[3,3]}
output %y
)");
  const Graph wrong = graph_of(R"(%x = input f32[1,1,4,4]
%y = MaxPool(%x) {kernel_shape=[3,3], pads=[1,1,1,1]}
output %y
)");
  const auto zeros = compare_graphs(right, wrong, {.only_input = static_cast<int>(MadeInput::kZeros)});
  ASSERT_TRUE(zeros) << describe(zeros.error());
  EXPECT_TRUE(zeros->same);
  const auto negative = compare_graphs(right, wrong, {.only_input = static_cast<int>(MadeInput::kLargeNegative)});
  ASSERT_TRUE(negative) << describe(negative.error());
  EXPECT_FALSE(negative->same);
  EXPECT_THAT(negative->difference, HasSubstr("output \"y\" on large negative input"));
}

// Equal but for inputs above 100, which nothing made up holds.
TEST(CompareGraphs, LooksAtGivenPicturesToo) {
  const Graph first = graph_of("%x = input f32[1,4]\n%1 = Clip(%x, _, b:f32[]{100})\noutput %1\n");
  const Graph second = graph_of("%x = input f32[1,4]\n%1 = Clip(%x, _, b:f32[]{200})\noutput %1\n");
  const auto made_up = compare_graphs(first, second);
  ASSERT_TRUE(made_up) << describe(made_up.error());
  EXPECT_TRUE(made_up->same);
  const NamedInputs picture{.name = "bird.jpg", .tensors = {Tensor::of<float>({1, 4}, {0, 50, 150, 1})}};
  const auto seen = compare_graphs(first, second, {.pictures = std::span(&picture, 1)});
  ASSERT_TRUE(seen) << describe(seen.error());
  EXPECT_FALSE(seen->same);
  EXPECT_EQ(seen->inputs, 4);
  EXPECT_THAT(seen->difference, HasSubstr("bird.jpg"));
}

constexpr std::string_view kLarge = R"(%x = input f32[1,16,64,64]
%1 = Conv(%x, w:f32[64,16,3,3]#w) {pads=[1,1,1,1]}
%2 = Relu(%1)
%3 = GlobalAveragePool(%2)
output %3
)";

TEST(CompareGraphs, RunsLargeGraphsInSessions) {
  const Graph graph = graph_of(kLarge);
  const auto result = compare_graphs(graph, graph);
  ASSERT_TRUE(result) << describe(result.error());
  EXPECT_TRUE(result->same);
  EXPECT_EQ(result->inputs, 3);
  EXPECT_EQ(result->backend, "xnnpack");
}

TEST(CompareGraphs, LetsTheReferenceDecideWhenSessionsDiffer) {
  const Graph right = graph_of(kLarge);
  Graph wrong = right;
  const ValueId weight = *wrong.find_value("w");
  Tensor changed = *wrong.constant(weight);
  changed.mutable_data<float>()[0] += 2;
  wrong.set_constant(weight, std::move(changed));
  const auto result = compare_graphs(right, wrong, {.only_input = static_cast<int>(MadeInput::kNormal)});
  ASSERT_TRUE(result) << describe(result.error());
  EXPECT_FALSE(result->same);
  EXPECT_EQ(result->backend, "evaluate");
}

// 9 * 0.3 * -30 and the bias leave about a half: folded weights that are rounded to a neighbour move it by 0.007, ten
// times what rounding the sum itself does.
TEST(CompareGraphs, AllowsConstantsOfFloat16AnotherRoundingAndNoMore) {
  const Graph right = graph_of(R"(%x = input f16[1,1,3,3]
%1:f16 = Conv(%x, w:f16[1,1,3,3]{0.3,0.3,0.3,0.3,0.3,0.3,0.3,0.3,0.3}, b:f16[1]{81.5})
%2:f16 = Clip(%1, lo:f16[]{0}, hi:f16[]{1})
output %2
)");
  const NamedInputs picture{.name = "dusk",
                            .tensors = {Tensor::of<Half>({1, 1, 3, 3}, std::vector<Half>(9, to_half(-30)))}};
  const auto compared_with = [&](float first_weight) {
    Graph other = right;
    const ValueId weight = *other.find_value("w");
    Tensor changed = *other.constant(weight);
    changed.mutable_data<Half>()[0] = to_half(first_weight);
    other.set_constant(weight, std::move(changed));
    return compare_graphs(right, other, {.pictures = std::span(&picture, 1)}).value();
  };
  const Comparison neighbour = compared_with(0.3F + 0x1p-12F);
  EXPECT_TRUE(neighbour.same) << neighbour.difference;
  EXPECT_GT(neighbour.max_error, 0.005);
  EXPECT_FALSE(compared_with(0.31F).same);
}

TEST(CompareGraphs, RefusesOtherBorders) {
  const Graph first = graph_of("%x = input f32[1,4]\n%1 = Relu(%x)\noutput %1\n");
  const Graph second = graph_of("%y = input f32[1,4]\n%1 = Relu(%y)\noutput %1\n");
  const Error error = compare_graphs(first, second).error();
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_THAT(error.message, HasSubstr("inputs"));
}

TEST(CompareGraphs, ReportsAnotherShape) {
  const Graph first = graph_of("%x = input f32[1,4]\n%1 = Relu(%x)\noutput %1\n");
  const Graph second = graph_of("%x = input f32[1,4]\n%1 = Reshape(%x, s:i64[2]{4,1})\noutput %1\n");
  const auto result = compare_graphs(first, second);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->same);
  EXPECT_THAT(result->difference, HasSubstr("[4,1] in place of [1,4]"));
}

TEST(CompareGraphs, RefusesShapesOutOfProportionBeforeTakingTheMemory) {
  const Graph graph = graph_of("%x = input f32[1,1]\n%1 = Expand(%x, s:i64[2]{20000,20000})\noutput %1\n");
  const Error error = compare_graphs(graph, graph).error();
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_THAT(error.where, HasSubstr("Expand"));
}

TEST(CompareGraphs, BindsFreeSidesToSomethingThatFits) {
  const Graph graph = graph_of(R"(%x = input f32[N,3,H,W]
%1 = Conv(%x, w:f32[2,3,7,7]#w) {strides=[2,2]}
%2 = GlobalAveragePool(%1)
output %2
)");
  const auto result = compare_graphs(graph, graph);
  ASSERT_TRUE(result) << describe(result.error());
  EXPECT_TRUE(result->same);
  EXPECT_EQ(result->max_error, 0);
}

}  // namespace
}  // namespace kinglet::engine
