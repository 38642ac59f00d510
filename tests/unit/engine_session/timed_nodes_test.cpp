// SPDX-License-Identifier: Apache-2.0
// Per-step times: every step of the plan that works has one, and they add up to no more than the run.
#include <gtest/gtest.h>

#include "engine/base/clock.h"
#include "engine/session/session.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

constexpr const char* kNetwork = R"(
%x = input f32[1,3,64,64]
%1 = Conv(%x, w1:f32[32,3,3,3]#w1, b1:f32[32]#b1) {pads=[1,1,1,1]}
%2 = Relu(%1)
%3 = Conv(%2, w2:f32[32,32,3,3]#w2, b2:f32[32]#b2) {pads=[1,1,1,1]}
%4 = Add(%2, %3)
%5 = GlobalAveragePool(%4)
output %5
)";

TEST(TimedNodes, HaveTimesThatFitTheRun) {
  auto session = Session::create(parse_text(kNetwork).value().graph, {.time_nodes = true});
  ASSERT_TRUE(session) << describe(session.error());
  const SteadyTime start = SteadyClock::now();
  const auto done = session->run();
  const double whole_us = to_ms(SteadyClock::now() - start).count() * 1000;
  ASSERT_TRUE(done) << describe(done.error());
  double sum_us = 0;
  double conv_us = 0;
  for (const StepInfo& step : session->plan().steps) {
    EXPECT_GE(step.last_us, 0) << step.name;
    sum_us += step.last_us;
    if (step.op_type.starts_with("Conv")) conv_us += step.last_us;
  }
  EXPECT_GT(conv_us, 0);
  EXPECT_LE(sum_us, whole_us);
}

TEST(TimedNodes, CoverWhatRunsByEvaluate) {
  auto session =
      Session::create(parse_text(kNetwork).value().graph, {.time_nodes = true, .disabled_lowerings = {"Add"}});
  ASSERT_TRUE(session) << describe(session.error());
  const auto done = session->run();
  ASSERT_TRUE(done) << describe(done.error());
  for (const StepInfo& step : session->plan().steps) {
    if (step.op_type == "Add") {
      EXPECT_EQ(step.backend, "evaluate");
      EXPECT_GT(step.last_us, 0);
    }
  }
}

}  // namespace
}  // namespace kinglet::engine
