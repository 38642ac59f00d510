// SPDX-License-Identifier: Apache-2.0
// An operator that makes as many rows as its numbers say, in a session, whose memory is planned before: room for the
// most there may be, the rows of a run first, none of the run before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/session/session.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kThree = R"(
%b = input f32[1,3,4]
%s = input f32[1,2,3]
%1 = NonMaxSuppression(%b, %s, m:i64[]{2}, i:f32[]{0.5}, l:f32[]{0.1})
output %1
)";
const Tensor kBoxes = Tensor::of<float>({1, 3, 4}, {0, 0, 2, 2, 0, 0, 2, 1.9F, 5, 5, 6, 6});

std::vector<std::int64_t> rows(Session& session, std::initializer_list<float> scores) {
  EXPECT_TRUE(session.set_input(0, kBoxes));
  EXPECT_TRUE(session.set_input(1, Tensor::of<float>({1, 2, 3}, scores)));
  EXPECT_TRUE(session.run());
  return session.get_output(0).to_int64s();
}

TEST(Rows, HaveRoomForTheMostThereMayBe) {
  const Session session = Session::create(graph_of(kThree), {}).value();
  EXPECT_EQ(session.outputs()[0].shape, (Shape{4, 3}));
}

TEST(Rows, OfEachRunComeFirstAndOthersAreMarked) {
  Session session = Session::create(graph_of(kThree), {}).value();
  EXPECT_THAT(rows(session, {0.5F, 0.9F, 0.2F, 0.3F, 0, 0.4F}), ElementsAre(0, 0, 1, 0, 0, 2, 0, 1, 2, 0, 1, 0));
  EXPECT_THAT(rows(session, {0.05F, 0.2F, 0, 0, 0, 0}), ElementsAre(0, 0, 1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
}

TEST(Rows, AreLimitedByWhatIsFedIn) {
  Session session = Session::create(graph_of(R"(
%b = input f32[1,3,4]
%s = input f32[1,2,3]
%m = input i64[1]
%1 = NonMaxSuppression(%b, %s, %m, i:f32[]{0.5}, l:f32[]{0.1})
output %1
)"),
                                    {})
                        .value();
  EXPECT_EQ(session.outputs()[0].shape, (Shape{6, 3}));
  ASSERT_TRUE(session.set_input(2, Tensor::of<std::int64_t>({1}, {1})));
  EXPECT_THAT(rows(session, {0.5F, 0.9F, 0.2F, 0.3F, 0, 0.4F}),
              ElementsAre(0, 0, 1, 0, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
}

TEST(Rows, ThatOtherNodesWouldReadAreRefused) {
  const auto session = Session::create(graph_of(R"(
%b = input f32[1,3,4]
%s = input f32[1,2,3]
%1 = NonMaxSuppression(%b, %s, m:i64[]{2})
%2 = Gather(%1, k:i64[]{2}) {axis=1}
output %2
)"),
                                       {});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(describe(session.error()), HasSubstr("other nodes read them"));
}

TEST(Rows, OfConstantsAreCountedAtOnce) {
  const Graph graph = graph_of(R"(
%x = input f32[1]
%1 = NonMaxSuppression(b:f32[1,2,4]{0,0,1,1,3,3,4,4}, s:f32[1,1,2]{0.5,0.9}, m:i64[]{9})
%2 = Cast(%1) {to=1}
%3 = Add(%2, %x)
output %3
)");
  EXPECT_EQ(graph.value(graph.outputs()[0]).shape, (Shape{2, 3}));
  EXPECT_TRUE(Session::create(Graph(graph), {}));
}

}  // namespace
}  // namespace kinglet::engine
