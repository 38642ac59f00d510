// SPDX-License-Identifier: Apache-2.0
// The runner: which passes run, how often, when they stop, and what the report says.
#include "engine/passes/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ops/op.h"
#include "tests/support/graph_of.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Graph two_identities() {
  return graph_of(R"(%x = input f32[1,4]
%1 = Identity(%x)
%2 = Relu(%1)
%3 = Identity(%2)
%4 = Neg(%3)
output %4
)");
}

TEST(PassList, HasASummaryAndAReasonForEachPlace) {
  for (const Pass& pass : all_passes()) {
    EXPECT_FALSE(pass.summary.empty()) << pass.name;
    EXPECT_FALSE(pass.why_here.empty()) << pass.name;
    EXPECT_NE(pass.run, nullptr) << pass.name;
  }
}

TEST(PassList, EndsWithTheStageThatNoOtherPassMayFollow) {
  bool last_seen = false;
  for (const Pass& pass : all_passes()) {
    EXPECT_FALSE(last_seen && pass.stage != PassStage::kLast) << pass.name;
    last_seen = last_seen || pass.stage == PassStage::kLast;
  }
  EXPECT_TRUE(last_seen);
}

TEST(RunPasses, ReportsRemovedNodesByNameAndType) {
  Graph graph = two_identities();
  const auto report = run_passes(graph);
  ASSERT_TRUE(report) << describe(report.error());
  EXPECT_EQ(report->nodes_before, 4U);
  EXPECT_EQ(report->nodes_after, 2U);
  ASSERT_EQ(report->removed.size(), 2U);
  EXPECT_EQ(report->removed[0].op_type, "Identity");
  EXPECT_EQ(report->removed[0].pass, "eliminate_identity");
  EXPECT_THAT(report->added, IsEmpty());
  EXPECT_EQ(report->rewrite_count(), 2);
}

TEST(RunPasses, ReportsChangedNodes) {
  Graph graph = graph_of(R"(%x = input f32[1,4]
%1 = Relu(%x)
%2 = Clip(%1, a:f32[]{-1}, b:f32[]{6})
output %2
)");
  const auto report = run_passes(graph);
  ASSERT_TRUE(report) << describe(report.error());
  ASSERT_EQ(report->changed.size(), 1U);
  EXPECT_EQ(report->changed[0].op_type, "Clip");
  EXPECT_EQ(report->changed[0].pass, "merge_clip");
}

TEST(RunPasses, DoesNothingToASettledGraph) {
  Graph graph = two_identities();
  ASSERT_TRUE(run_passes(graph));
  const std::string settled = to_text(graph);
  const auto again = run_passes(graph);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->rewrite_count(), 0);
  EXPECT_EQ(again->rounds, 1);
  EXPECT_EQ(to_text(graph), settled);
}

TEST(RunPasses, RunsOnlyTheNamedPasses) {
  Graph graph = two_identities();
  const auto report = run_passes(graph, {.only = {"merge_clip", "eliminate_dropout"}});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->passes.size(), 2U);
  EXPECT_EQ(report->passes[0].name, "eliminate_dropout");  // in the order of the list
  EXPECT_EQ(report->passes[1].name, "merge_clip");
  EXPECT_EQ(report->nodes_after, 4U);
}

TEST(RunPasses, LeavesSkippedPassesOut) {
  Graph graph = two_identities();
  const auto report = run_passes(graph, {.skip = {"eliminate_identity"}});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->nodes_after, 4U);
}

TEST(RunPasses, EndsEachRoundAtUntil) {
  Graph graph = two_identities();
  const auto report = run_passes(graph, {.for_session = true, .until = "eliminate_dropout"});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->passes.size(), 2U);
  EXPECT_EQ(report->passes.back().name, "eliminate_dropout");
}

TEST(RunPasses, StopsAfterTheGivenNumberOfRewrites) {
  Graph graph = two_identities();
  const auto report = run_passes(graph, {.stop_after_rewrites = 1});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->nodes_after, 3U);
  ASSERT_EQ(report->rewrites.size(), 1U);
  EXPECT_EQ(report->rewrites[0].pass, "eliminate_identity");
  EXPECT_EQ(report->rewrites[0].op_type, "Identity");
}

TEST(RunPasses, KeepsSessionPassesOutOfFiles) {
  Graph graph = graph_of(R"(%x = input f32[1,3,8,8]
%1 = Conv(%x, w:f32[4,3,3,3]#a)
%2 = Relu(%1)
output %2
)");
  ASSERT_TRUE(run_passes(graph));
  EXPECT_EQ(graph.node_count(), 2U);
  ASSERT_TRUE(run_passes(graph, {.for_session = true}));
  EXPECT_EQ(graph.node_count(), 1U);
}

TEST(RunPasses, RefusesAPassNobodyKnows) {
  Graph graph = two_identities();
  const auto report = run_passes(graph, {.skip = {"fuse_bn_into_convs"}});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kUsage);
  EXPECT_THAT(report.error().message, HasSubstr("fuse_bn_into_convs"));
  EXPECT_THAT(report.error().hint, HasSubstr("fuse_bn_into_conv"));
}

TEST(RunPasses, PointsToTheListWhenNoNameIsNear) {
  Graph graph = two_identities();
  const auto report = run_passes(graph, {.until = "xyzzy"});
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().hint, HasSubstr("--list"));
}

TEST(RunPasses, SeesThroughChainsOfDifferentPasses) {
  Graph graph = graph_of(R"(%x = input f32[1,3,8,8]
%1 = Pad(%x, p:i64[8]{0,0,0,0,0,0,1,1}, z:f32[]{0})
%2 = Identity(%1)
%3 = Conv(%2, w:f32[4,3,3,3]#a) {strides=[2,2]}
%4 = Dropout(%3)
%5 = BatchNormalization(%4, s:f32[4]#b, b:f32[4]#c, m:f32[4]#d, v:f32[4]#+e)
%6 = Mul(%5, f:f32[4,1,1]#f)
%7 = Add(%6, g:f32[4,1,1]#g)
%8 = Relu(%7)
%9 = Clip(%8, lo:f32[]{0}, hi:f32[]{6})
output %9
)");
  const auto report = run_passes(graph);
  ASSERT_TRUE(report) << describe(report.error());
  std::vector<std::string> ops;
  for (const NodeId id : graph.nodes()) ops.push_back(graph.node(id).op_type);
  EXPECT_THAT(ops, ElementsAre("Conv", "Clip"));
}

}  // namespace
}  // namespace kinglet::engine
