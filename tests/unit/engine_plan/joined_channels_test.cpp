// SPDX-License-Identifier: Apache-2.0
// Which concatenations are nothing to do, since kernels write what they join where it lies, and where that is.
#include <format>

#include "tests/unit/engine_plan/plan_of.h"

namespace kinglet::engine {
namespace {

PlanOptions forced(std::set<std::string> kernels, bool half = false) {
  return {
      .disabled_lowerings = {}, .refused = {}, .half = half, .kernels = {.own = false, .forced = std::move(kernels)}};
}
const PlanOptions kWoven = forced({"woven_f32__scalar"});

// Two layers of 8 and 12 channels of a picture of 6x6, and what stands behind them.
Graph network(std::string_view behind) {
  return inferred(std::format(R"(
%x = input f32[1,8,6,6]
%1 = Conv(%x, a:f32[8,8,1,1]#a) {{kinglet_min=0.0}}
%2 = Conv(%1, b:f32[8,8,1,1]#b)
%3 = Conv(%1, c:f32[12,8,3,3]#c) {{pads=[1,1,1,1]}}
{}
)",
                              behind));
}

const Step* joined_step(const Segments& segments) {
  const auto found = std::ranges::find_if(segments.steps, &Step::joined);
  return found == segments.steps.end() ? nullptr : &*found;
}
bool joins(std::string_view behind, const PlanOptions& options = kWoven) {
  const Graph graph = network(behind);
  return joined_step(cut_segments(graph, assign_layouts(graph), options)) != nullptr;
}

TEST(JoinedChannels, LieOneBehindTheOtherInTheWhole) {
  for (const int axis : {1, -3}) {
    const Graph graph =
        network(std::format("%4 = Concat(%3, %2) {{axis={}}}\n%5 = GlobalAveragePool(%4)\noutput %5", axis));
    const Placed plan = placed(graph, kWoven);
    const Step* step = joined_step(plan.plan.segments);
    ASSERT_NE(step, nullptr);
    EXPECT_FALSE(step->is_evaluated());
    const auto slot = [&](ValueId value) { return plan.buffers.slots.at(value); };
    const BufferPlan::Slot whole = slot(step->outputs.front());
    constexpr std::size_t kBytes = 36 * 20 * sizeof(float);
    EXPECT_EQ(whole.bytes, kBytes);
    EXPECT_EQ(slot(step->inputs[0]).offset, whole.offset);
    EXPECT_EQ(slot(step->inputs[1]).offset, whole.offset + 12 * sizeof(float));
    EXPECT_EQ(slot(step->inputs[1]).bytes, kBytes - 12 * sizeof(float));
  }
}

TEST(JoinedChannels, TakeTheirPlaceBeforeTheFirstIsWritten) {
  const Graph graph = network("%4 = Concat(%2, %3) {axis=1}\n%5 = GlobalAveragePool(%4)\noutput %5");
  const Placed plan = placed(graph, kWoven);
  const auto slot = [&](std::size_t node) {
    return plan.buffers.slots.at(graph.node(graph.nodes()[node]).outputs.front());
  };
  // %1 is read until the second part is written.
  const BufferPlan::Slot read = slot(0);
  const BufferPlan::Slot whole = slot(3);
  EXPECT_TRUE(read.offset + read.bytes <= whole.offset || whole.offset + whole.bytes <= read.offset);
}

TEST(JoinedChannels, AreCopiedWhereOthersReadOrMakeThem) {
  EXPECT_TRUE(joins("%4 = Concat(%2, %3) {axis=1}\n%5 = Conv(%4, d:f32[4,20,1,1]#d)\noutput %5"));
  EXPECT_TRUE(
      joins("%6 = Conv(%1, d:f32[8,8,1,1]#d)\n%4 = Concat(%2, %6) {axis=1}\n%5 = GlobalAveragePool(%4)\noutput %5\n"
            "output %3"));
  constexpr const char* kBehind[] = {
      "%4 = Concat(%2, %2) {axis=1}\n%5 = GlobalAveragePool(%4)\noutput %5\noutput %3",  // twice
      "%4 = Concat(%2, %3) {axis=1}\n%5 = Conv(%4, d:f32[8,20,1,1]#d)\n%6 = Add(%5, %2)\noutput %6\noutput %3",
      "%4 = Concat(%2, %3) {axis=1}\n%5 = GlobalAveragePool(%4)\noutput %5\noutput %2",  // the caller reads a part
      "%6 = Conv(%1, d:f32[8,8,1,1]#d)\n%4 = Concat(%2, %6) {axis=2}\n%5 = GlobalAveragePool(%4)\noutput %5\n"
      "output %3",  // rows of pixels
      "%6 = MaxPool(%3) {kernel_shape=[1,1]}\n%4 = Concat(%2, %6) {axis=1}\n%5 = GlobalAveragePool(%4)\noutput %5",
      "%6 = Conv(%3, d:f32[12,12,1,1]#d)\n%7 = Add(%6, %3)\n%4 = Concat(%2, %7) {axis=1}\n%5 = GlobalAveragePool(%4)\n"
      "output %5",  // what ends with an addition
  };
  for (const char* behind : kBehind) EXPECT_FALSE(joins(behind)) << behind;
}

TEST(JoinedChannels, OfFloat16AreJoinedWhereAllThatReadThemComputeInIt) {
  const PlanOptions half = forced({"woven_f16__scalar"}, true);
  EXPECT_TRUE(joins("%4 = Concat(%2, %3) {axis=1}\n%5 = Conv(%4, d:f32[4,20,1,1]#d)\n%6 = Exp(%5)\noutput %6", half));
  EXPECT_FALSE(joins("%4 = Concat(%2, %3) {axis=1}\noutput %4", half));
  PlanOptions evaluates = half;
  evaluates.disabled_lowerings = {"Exp"};
  EXPECT_FALSE(joins("%4 = Concat(%2, %3) {axis=1}\n%5 = Exp(%4)\noutput %5", evaluates));
}

}  // namespace
}  // namespace kinglet::engine
