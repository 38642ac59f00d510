// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/needs.h"

#include <gmock/gmock.h>

#include "tests/unit/engine_plan/plan_of.h"

namespace kinglet::engine {
namespace {

using ::testing::HasSubstr;

TEST(Needs, CountWhatIsAliveTogether) {
  const Graph graph = inferred(R"(
%x = input f32[1,1000]
%1 = Erf(%x)
%2 = Sin(%1)
%3 = Cos(%2)
output %3
)");
  EXPECT_EQ(needs_of(graph).values, 3 * 4000);  // the input stays, a node reads one and makes one
}

TEST(Needs, CountAPointerForEachCellOfAWindow) {
  const Graph graph = inferred(R"(
%x = input f32[1,3,8,8]
%1 = MaxPool(%x) {kernel_shape=[2,2]}
output %1
)");
  EXPECT_EQ(needs_of(graph).windows, 7 * 7 * 4 * 8);
}

TEST(Needs, CountTheMultiplyAddsOfAProduct) {
  const Graph graph = inferred(R"(
%x = input f32[10,1000]
%y = input f32[1000,20]
%1 = MatMul(%x, %y)
output %1
)");
  const double moved = 10'000 + 20'000 + 200 + 1;
  EXPECT_EQ(needs_of(graph).steps, 10 * 20 * 1000 + moved);
}

TEST(Needs, AboveTheLimitNameTheNodeThatAsksForMost) {
  const Graph graph = inferred(R"(
%x = input f32[1,1000]
%w = input f32[1000,1]
%1 = Add(%x, %w)
%2 = Relu(%x)
output %1, %2
)");
  const Result<void> checked = check_needs(graph, 1 << 20);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().where, HasSubstr("(Add)"));
  EXPECT_THAT(checked.error().message, HasSubstr("the limit is 1 MiB"));
  EXPECT_TRUE(check_needs(graph, 16 << 20));
}

TEST(Needs, GrowWithTheWeightsOfTheFile) {
  Graph graph;
  static_cast<void>(graph.add_constant("w", Tensor(DataType::kF32, {1 << 20})));
  EXPECT_EQ(memory_limit_of(graph) - kBaseMemory, 8 * (4 << 20));
}

}  // namespace
}  // namespace kinglet::engine
