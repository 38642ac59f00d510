// SPDX-License-Identifier: Apache-2.0
// Kernels of our own stand where XNNPACK's are slower: the answers are the same bits, whichever computes them. Scalar
// twins say so on every processor; fast forms are held to them where they exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <format>
#include <set>

#include "engine/backend/kernels/kernel.h"
#include "engine/session/session.h"
#include "tests/support/corpus.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

struct Convolution {
  const char* name;
  std::string_view input, weight;  // shapes
  int outputs;
  std::string_view attributes;
  std::string_view kernel;  // the first file that has one for it; empty: XNNPACK alone
  std::string_view activation = "";
};

void PrintTo(const Convolution& convolution, std::ostream* out) { *out << convolution.name; }

constexpr Convolution kConvolutions[] = {
    {"depthwise", "1,64,9,7", "64,1,3,3", 64, "group=64, pads=[1,1,1,1]", "depthwise_s8"},
    {"depthwise_of_few_channels", "1,5,8,8", "5,1,3,3", 5, "group=5, pads=[1,1,1,1]", "depthwise_s8"},
    {"depthwise_of_16", "1,16,6,11", "16,1,3,3", 16, "group=16, pads=[1,1,1,1]", "depthwise_s8"},
    {"depthwise_of_24", "1,24,6,9", "24,1,3,3", 24, "group=24, pads=[1,1,1,1], strides=[2,2]", "depthwise_s8"},
    {"depthwise_of_blocks_and_some", "1,144,7,7", "144,1,3,3", 144, "group=144, pads=[0,1,1,0], strides=[2,2]",
     "depthwise_s8"},
    {"depthwise_of_blocks_and_many", "1,120,7,5", "120,1,3,3", 120, "group=120, pads=[1,1,1,1]", "depthwise_s8"},
    {"depthwise_without_padding", "1,40,5,6", "40,1,3,3", 40, "group=40", "depthwise_s8"},
    {"depthwise_5x5", "1,72,9,9", "72,1,5,5", 72, "group=72, pads=[2,2,2,2], strides=[2,1]", "depthwise_s8"},
    {"depthwise_2x3", "1,48,9,9", "48,1,2,3", 48, "group=48, pads=[1,0,0,1]", "depthwise_s8"},
    {"depthwise_dilated", "1,33,12,12", "33,1,3,3", 33, "group=33, pads=[2,2,2,2], dilations=[2,2]", "depthwise_s8"},
    {"depthwise_wider_than_the_input", "1,20,2,1", "20,1,5,5", 20, "group=20, pads=[2,2,2,2]", "depthwise_s8"},
    {"depthwise_of_a_batch", "3,32,5,5", "32,1,3,3", 32, "group=32, pads=[1,1,1,1]", "depthwise_s8"},
    {"depthwise_with_relu", "1,80,6,6", "80,1,3,3", 80, "group=80, pads=[1,1,1,1]", "depthwise_s8", "Relu"},
    {"depthwise_with_two_filters_a_channel", "1,8,6,6", "16,1,3,3", 16, "group=8, pads=[1,1,1,1]", ""},
    {"stem", "1,3,17,15", "32,3,3,3", 32, "pads=[1,1,1,1], strides=[2,2]", "few_channels_s8"},
    {"stem_padded_behind", "1,3,16,16", "16,3,3,3", 16, "pads=[0,0,1,1], strides=[2,2]", "few_channels_s8"},
    {"stem_of_grey", "1,1,9,10", "48,1,5,5", 48, "pads=[2,2,2,2]", "few_channels_s8"},
    {"stem_of_a_batch_with_relu", "2,3,8,9", "16,3,3,3", 16, "pads=[1,1,1,1]", "few_channels_s8", "Relu"},
    {"stem_dilated_downwards", "1,4,12,9", "16,4,3,3", 16, "dilations=[2,1], pads=[2,1,2,1]", "few_channels_s8"},
    {"stem_smaller_than_the_window", "1,3,1,2", "16,3,3,3", 16, "pads=[1,1,1,1]", "few_channels_s8"},
    {"stem_of_7_columns", "1,1,20,20", "16,1,7,7", 16, "pads=[3,3,3,3], strides=[2,2]", "few_channels_s8"},
    {"stem_of_many_weights", "1,3,20,21", "48,3,7,7", 48, "pads=[3,3,3,3], strides=[2,2]", "few_channels_s8"},
    {"stem_of_11_columns", "1,3,20,20", "16,3,3,11", 16, "pads=[1,5,1,5]", "products_s8"},
    {"pixels_of_32_channels", "1,32,5,7", "16,32,1,1", 16, "", "few_channels_s8"},
    {"pixels_of_18_channels_with_relu", "2,18,3,5", "48,18,1,1", 48, "", "few_channels_s8", "Relu"},
    {"pixels_to_many_channels", "1,24,5,5", "144,24,1,1", 144, "", "products_s8"},
    {"three_by_three_of_many_pixels", "1,64,40,39", "64,64,3,3", 64, "pads=[1,1,1,1]", "winograd_s8"},
    {"three_by_three_with_relu", "1,60,38,41", "72,60,3,3", 72, "pads=[0,1,1,0]", "winograd_s8", "Relu"},
    {"stem_of_odd_outputs", "1,3,8,8", "20,3,3,3", 20, "pads=[1,1,1,1]", "products_s8"},
};

Graph network_of(const Convolution& of) {
  const std::string behind = of.activation.empty() ? "" : std::format("%5 = {}(%4)\n", of.activation);
  return graph_of(
      std::format("%x = input f32[{}]\n"
                  "%1 = QuantizeLinear(%x, s:f32[]{{0.0231}}, z:i8[]{{5}})\n%2 = DequantizeLinear(%1, s, z)\n"
                  "%3 = DequantizeLinear(w:i8[{}]#w, ws:f32[{}]#+ws) {{axis=0}}\n"
                  "%4 = Conv(%2, %3, b:f32[{}]#b) {{{}}}\n{}"
                  "%6 = QuantizeLinear(%{}, t:f32[]{{5.3}}, u:i8[]{{-11}})\n%7 = DequantizeLinear(%6, t, u)\n%8 = "
                  "Abs(%7)\noutput %8\n",
                  of.input, of.weight, of.outputs, of.outputs, of.attributes, behind, behind.empty() ? 4 : 5));
}

class OwnKernels : public ::testing::TestWithParam<Convolution> {};

std::set<std::string> rows_that(bool scalar) {
  std::set<std::string> names;
  for (const kernels::KernelRow* row : kernels::all_kernels()) {
    if (row->name.ends_with("__scalar") == scalar) names.emplace(row->name);
  }
  return names;
}

std::string kernel_of(const Session& session) {
  const auto& steps = session.plan().steps;
  const auto own = std::ranges::find(steps, "kinglet", &StepInfo::backend);
  return own == steps.end() ? "" : own->kernel->name;
}

struct Answer {
  std::string kernel;
  Tensor numbers;
};

Answer answer(const Graph& graph, const SessionOptions& options) {
  auto session = Session::create(Graph(graph), options);
  if (!session) throw std::runtime_error(describe(session.error()));
  Tensor input = seeded_tensor(DataType::kF32, session->inputs().front().shape, "x");
  for (float& x : input.mutable_data<float>()) x *= 3.2F;
  EXPECT_TRUE(session->set_input(0, input));
  EXPECT_TRUE(session->run());
  return {.kernel = kernel_of(*session), .numbers = session->get_output(0)};
}

Answer answer_of_twin(const Graph& graph, const std::set<std::string>& twins, int threads = 1) {
  return answer(graph, {.threads = threads, .own_kernels = false, .forced_kernels = twins});
}

// ARM has others, with twins of their own.
std::vector<std::string_view> kernels_for(const Convolution& of) {
  if (of.kernel == "depthwise_s8") return {of.kernel, "columns_s8"};
  if (of.kernel == "few_channels_s8") return {of.kernel, "products_s8"};
  return {of.kernel};
}

TEST_P(OwnKernels, HaveTwinsThatGiveTheBitsOfXnnpack) {
  const Graph graph = network_of(GetParam());
  const Answer expected = answer(graph, {.own_kernels = false});
  EXPECT_EQ(expected.kernel, "");
  for (const std::string_view kernel : kernels_for(GetParam())) {
    const std::string twin = kernel.empty() ? "" : std::format("{}__scalar", kernel);
    const std::set<std::string> twins = twin.empty() ? rows_that(true) : std::set{twin};
    for (const int threads : {1, 3}) {
      const Answer found = answer_of_twin(graph, twins, threads);
      EXPECT_EQ(found.kernel, twin);
      EXPECT_TRUE(std::ranges::equal(found.numbers.bytes(), expected.numbers.bytes()));
    }
  }
  const auto numbers = expected.numbers.data<float>();
  EXPECT_GT(std::ranges::max(numbers) - std::ranges::min(numbers), 1);  // not one level everywhere
}

TEST_P(OwnKernels, GiveTheBitsOfTheirTwins) {
  const Graph graph = network_of(GetParam());
  const Answer expected = answer_of_twin(graph, rows_that(true));
  for (const int threads : {1, 3}) {
    // Also those that do not pay here.
    const Answer found = answer(graph, {.threads = threads, .own_kernels = false, .forced_kernels = rows_that(false)});
    if (!GetParam().kernel.empty() && found.kernel.empty()) GTEST_SKIP() << "this processor has none of its own";
    EXPECT_EQ(found.kernel.empty(), GetParam().kernel.empty());
    EXPECT_FALSE(rows_that(true).contains(found.kernel));
    EXPECT_TRUE(std::ranges::equal(found.numbers.bytes(), expected.numbers.bytes()));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, OwnKernels, ::testing::ValuesIn(kConvolutions),
                         [](const auto& test) { return std::string(test.param.name); });

// Of three channels and of few: 3x3 and single pixels half fill what XNNPACK multiplies, 7x7 less.
TEST(FewChannels, AreOfManyWeightsWhereXnnpackHasMoreThanTwiceAsMany) {
  const auto takes = [](std::size_t channels, std::uint32_t side, std::size_t outputs) {
    const kernels::ConvolutionShape shape{.input_height = 16,
                                          .input_width = 16,
                                          .input_channels = channels,
                                          .output_height = 16,
                                          .output_width = 16,
                                          .output_channels = outputs,
                                          .window = {.kernel_height = side, .kernel_width = side}};
    const kernels::Work work{kernels::ConvolutionS8{
        .shape = shape, .numbers = {.weights = {}, .bias = {}, .scales = {}, .input = {}, .output = {}}}};
    const auto& rows = kernels::all_kernels();
    return (*std::ranges::find(rows, "few_channels_s8__scalar", &kernels::KernelRow::name))->offer(work).has_value();
  };
  EXPECT_TRUE(takes(3, 3, 64));
  EXPECT_FALSE(takes(3, 3, 96));
  EXPECT_TRUE(takes(4, 1, 512));
  EXPECT_FALSE(takes(4, 1, 1024));
  EXPECT_TRUE(takes(3, 7, 64));
}

// What is computed from constants alone, and was too dear to fold, has no input to give to a kernel.
TEST(KernelTable, IsNotForWhatIsComputedFromConstants) {
  const Graph graph = graph_of(R"(
%x = input f32[1,128,28,28]
%1 = Conv(a:f32[1,640,28,28]#a, w:f32[128,640,1,1]#w)
%2 = Add(%1, %x)
%3 = Conv(b:f32[1,64,28,28]#b, v:f32[128,64,3,3]#v) {pads=[1,1,1,1]}
%4 = Relu(%3)
%5 = Mul(%2, %4)
%6 = MatMul(c:f32[784,640]#c, m:f32[640,128]#m)
%7 = Reshape(%6, s:i64[4]{1,128,28,28})
%8 = Sub(%5, %7)
output %8
)");
  const Tensor input = seeded_tensor(DataType::kF32, {1, 128, 28, 28}, "x");
  const Tensor expected = evaluate_graph(graph, {&input, 1}).value().front();
  for (const bool own : {false, true}) {
    for (const std::set<std::string>& forced : {std::set<std::string>(), rows_that(true)}) {
      const SessionOptions options{.optimize = false, .own_kernels = own, .forced_kernels = forced};
      Session session = Session::create(Graph(graph), options).value();
      ASSERT_TRUE(session.set_input(0, input));
      ASSERT_TRUE(session.run());
      EXPECT_EQ(kernel_of(session), "");
      EXPECT_TRUE(std::ranges::contains(session.plan().steps, "Conv", &StepInfo::op_type)) << "it is folded";
      const Tensor found = session.get_output(0);
      for (std::size_t i = 0; i < found.data<float>().size(); ++i)
        ASSERT_NEAR(found.data<float>()[i], expected.data<float>()[i], 1e-2) << i;
    }
  }
}

TEST(KernelTable, LeavesTheBitsOfAWholeNetworkOf8BitsAsTheyAre) {
  KINGLET_NEEDS_CORPUS();
  const auto path = testing::corpus() / "models" / "imagenet_mobilenetv2_s8_qdq.onnx";
  const auto answer_of = [&](const SessionOptions& options) {
    Session session = Session::open(path, options).value();
    EXPECT_TRUE(session.set_input(
        0, seeded_tensor(session.inputs().front().type, session.inputs().front().shape, "photograph")));
    EXPECT_TRUE(session.run());
    return Answer{.kernel = kernel_of(session), .numbers = session.get_output(0)};
  };
  const Answer expected = answer_of({.own_kernels = false});
  EXPECT_EQ(expected.kernel, "");
  for (const int threads : {1, 3}) {
    const Answer found = answer_of({.threads = threads});
    if (found.kernel.empty()) GTEST_SKIP() << "this processor has no kernel of its own for it";
    EXPECT_TRUE(std::ranges::equal(found.numbers.bytes(), expected.numbers.bytes())) << threads;
  }
}

TEST(KernelTable, HasAScalarTwinForEachKernel) {
  const std::set<std::string> twins = rows_that(true);
  for (const std::string& name : rows_that(false))
    EXPECT_TRUE(twins.contains(std::format("{}__scalar", name.substr(0, name.find("__"))))) << name;
}

}  // namespace
}  // namespace kinglet::engine
