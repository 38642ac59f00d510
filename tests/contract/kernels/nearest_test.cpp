// SPDX-License-Identifier: Apache-2.0
// The nearest pixel by the kernel: what evaluate gives, to the bit, of every type, by any number of threads; and where
// it stands in a network.
#include <gtest/gtest.h>

#include <algorithm>
#include <format>

#include "engine/session/session.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

// Between two nodes that want [N,H,W,C], as in a network.
Graph network(std::string_view input, std::string_view wanted, std::string_view attributes) {
  return graph_of(
      std::format("%x = input f32[{}]\n%1 = MaxPool(%x) {{kernel_shape=[1,1]}}\n"
                  "%2 = Resize(%1, {}) {{mode=\"nearest\"{}}}\n"
                  "%3 = MaxPool(%2) {{kernel_shape=[1,1]}}\noutput %3\n",
                  input, wanted, attributes));
}

std::size_t kernels_of(const Session& session) {
  return static_cast<std::size_t>(std::ranges::count_if(session.plan().steps, [](const StepInfo& step) {
    return step.backend == "kinglet" && step.kernel->name == "nearest__scalar";
  }));
}

Tensor answer(Session& session, const Tensor& input) {
  EXPECT_TRUE(session.set_input(0, input));
  EXPECT_TRUE(session.run());
  return session.get_output(0);
}

struct Form {
  const char* name;
  std::string_view input, wanted, attributes;
};

void PrintTo(const Form& form, std::ostream* out) { *out << form.name; }

constexpr Form kForms[] = {
    {"twice", "1,20,13,13", "_, s:f32[4]{1,1,2,2}",
     ", coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\""},
    {"as_exported_by_sizes", "1,5,4,6", "_, _, t:i64[4]{1,5,8,12}", ", coordinate_transformation_mode=\"asymmetric\""},
    {"three_and_four_times", "2,3,5,4", "_, s:f32[4]{1,1,3,4}", ""},
    {"to_odd_sizes", "1,7,5,9", "_, _, t:i64[4]{1,7,8,4}", ", nearest_mode=\"round_prefer_ceil\""},
    {"to_one_pixel", "1,4,9,9", "_, _, t:i64[4]{1,4,1,1}", ", coordinate_transformation_mode=\"align_corners\""},
    {"with_a_region_that_means_nothing", "1,6,4,4", "r:f32[8]{0,0,0,0,1,1,1,1}, s:f32[4]{1,1,2,2}", ""},
    {"of_one_channel", "3,1,6,6", "_, s:f32[4]{1,1,2,3}", ""},
};

class NearestKernel : public ::testing::TestWithParam<Form> {};

TEST_P(NearestKernel, GivesTheBitsOfEvaluate) {
  const Graph graph = network(GetParam().input, GetParam().wanted, GetParam().attributes);
  const Tensor input = seeded_tensor(DataType::kF32, *graph.value(graph.inputs()[0].value).shape, "x");
  const Tensor expected = evaluate_graph(graph, {&input, 1}).value().at(0);
  for (const int threads : {1, 3}) {
    Session session = Session::create(Graph(graph), {.threads = threads, .optimize = false}).value();
    EXPECT_EQ(kernels_of(session), 1U);
    EXPECT_TRUE(session.plan().fallback_nodes.empty());
    EXPECT_TRUE(answer(session, input).bit_equal(expected));
    EXPECT_TRUE(answer(session, input).bit_equal(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(, NearestKernel, ::testing::ValuesIn(kForms),
                         [](const auto& chosen) { return std::string(chosen.param.name); });

TEST(Nearest, CopiesLevelsOfEightBits) {
  const Graph graph = graph_of(R"(
%x = input u8[1,3,5,4]
%1 = Resize(%x, _, s:f32[4]{1,1,2,2}) {mode="nearest"}
%2 = DequantizeLinear(%1, step:f32[]{0.5}, zero:u8[]{7})
%3 = MaxPool(%2) {kernel_shape=[1,1]}
output %3
)");
  const Tensor input = seeded_tensor(DataType::kU8, {1, 3, 5, 4}, "x");
  const Tensor expected = evaluate_graph(graph, {&input, 1}).value().at(0);
  Session session = Session::create(Graph(graph), {.optimize = false}).value();
  EXPECT_EQ(kernels_of(session), 1U);
  EXPECT_TRUE(answer(session, input).bit_equal(expected));
}

TEST(Nearest, IsLeftToEvaluateWhereChannelsGrowOrOwnKernelsAreNotWished) {
  const Session channels = Session::create(network("1,3,4,4", "_, s:f32[4]{1,2,2,2}", ""), {.optimize = false}).value();
  EXPECT_EQ(kernels_of(channels), 0U);
  EXPECT_EQ(channels.plan().fallback_nodes.size(), 1U);
  const Session not_wished =
      Session::create(network("1,3,4,4", "_, s:f32[4]{1,1,2,2}", ""), {.own_kernels = false}).value();
  EXPECT_EQ(kernels_of(not_wished), 0U);
}

}  // namespace
}  // namespace kinglet::engine
