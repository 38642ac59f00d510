// SPDX-License-Identifier: Apache-2.0
// Files keep their opset: a chain becomes a newer operator only where the file has it, a session takes all of them.
#include <gtest/gtest.h>

#include "engine/ops/op.h"
#include "engine/passes/runner.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

constexpr std::string_view kGelu = R"(%x = input f32[2,8]
%1 = Div(%x, r:f32[]{1.4142135})
%2 = Erf(%1)
%3 = Add(%2, one:f32[]{1})
%4 = Mul(%x, %3)
%5 = Mul(%4, half:f32[]{0.5})
output %5
)";
constexpr std::string_view kLayerNorm = R"(%x = input f32[2,8]
%1 = ReduceMean(%x, a:i64[1]{-1})
%2 = Sub(%x, %1)
%3 = Pow(%2, two:f32[]{2})
%4 = ReduceMean(%3, a)
%5 = Add(%4, eps:f32[]{1e-05})
%6 = Sqrt(%5)
%7 = Div(%2, %6)
%8 = Mul(%7, w:f32[8]#w)
%9 = Add(%8, b:f32[8]#b)
output %9
)";
constexpr std::string_view kHardSwish = R"(%x = input f32[1,8]
%1 = HardSigmoid(%x) {alpha=0.16666667, beta=0.5}
%2 = Mul(%x, %1)
output %2
)";

std::size_t nodes_after(std::string_view text, std::int64_t opset, bool for_session) {
  auto parsed = parse_text(text);
  EXPECT_TRUE(parsed) << describe(parsed.error());
  parsed->graph.metadata.opset = opset;
  EXPECT_TRUE(infer_shapes(parsed->graph));
  const auto report = run_passes(parsed->graph, {.for_session = for_session, .verify = true});
  EXPECT_TRUE(report) << describe(report.error());
  return parsed->graph.node_count();
}

TEST(FuseGelu, DeclinesInFilesBeforeOpset20) {
  EXPECT_EQ(nodes_after(kGelu, 19, false), 5U);
  EXPECT_EQ(nodes_after(kGelu, 20, false), 1U);
}

TEST(FuseLayerNorm, DeclinesInFilesBeforeOpset17) {
  EXPECT_EQ(nodes_after(kLayerNorm, 16, false), 9U);
  EXPECT_EQ(nodes_after(kLayerNorm, 17, false), 1U);
}

TEST(FuseHardSwish, DeclinesInFilesBeforeOpset14) {
  EXPECT_EQ(nodes_after(kHardSwish, 13, false), 2U);
  EXPECT_EQ(nodes_after(kHardSwish, 14, false), 1U);
}

TEST(RunPasses, UsesEveryOperatorInASession) {
  for (const std::string_view text : {kGelu, kLayerNorm, kHardSwish}) EXPECT_EQ(nodes_after(text, 11, true), 1U);
}

}  // namespace
}  // namespace kinglet::engine
