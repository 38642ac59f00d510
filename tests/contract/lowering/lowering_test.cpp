// SPDX-License-Identifier: Apache-2.0
// The contract of `lower`: an operator whose lowering is switched off runs through evaluate and gives the same answers.
// Every row of ops.def that lowers has a case; graphs are small, and bigger ones below mix operators and layouts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <format>
#include <ostream>

#include "engine/ops/op.h"
#include "engine/session/session.h"
#include "tests/contract/lowering/lowering_cases.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {

void PrintTo(const LoweringCase& row, std::ostream* out) { *out << row.op_type << ' ' << row.name; }

namespace {

std::vector<Tensor> inputs_of(const Graph& graph, bool positive) {
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs()) {
    const Value& value = graph.value(input.value);
    Tensor tensor = seeded_tensor(value.type, *value.shape, value.name, positive);
    // Beyond [-1, 1), where roundings and clips would have nothing to do.
    for (float& x : tensor.mutable_data<float>()) x *= 3;
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::vector<Tensor> answers(Session& session, std::span<const Tensor> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_TRUE(session.set_input(i, inputs[i]));
  const auto done = session.run();
  EXPECT_TRUE(done) << describe(done.error());
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < session.outputs().size(); ++i) out.push_back(session.get_output(i));
  return out;
}

void expect_same(const std::vector<Tensor>& found, const std::vector<Tensor>& expected, float step = 0) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].shape(), expected[i].shape());
    ASSERT_EQ(found[i].type(), DataType::kF32);
    for (std::size_t at = 0; at < found[i].data<float>().size(); ++at) {
      const float want = expected[i].data<float>()[at];
      ASSERT_NEAR(found[i].data<float>()[at], want, 2e-5F * std::max(1.0F, std::abs(want)) + step)
          << "output " << i << " at " << at;
    }
  }
}

Session session_of(const Graph& graph, bool optimize, std::set<std::string> disabled = {}) {
  auto session = Session::create(Graph(graph), {.optimize = optimize, .disabled_lowerings = std::move(disabled)});
  if (!session) {
    ADD_FAILURE() << describe(session.error());  // tells where, which an exception does not
    throw std::runtime_error("no session");
  }
  return std::move(*session);
}

std::vector<Tensor> reference(Graph graph, std::span<const Tensor> inputs) {
  const auto inferred = infer_shapes(graph);
  EXPECT_TRUE(inferred) << describe(inferred.error());
  auto out = evaluate_graph(graph, inputs);
  EXPECT_TRUE(out) << describe(out.error());
  return std::move(*out);
}

class Lowering : public ::testing::TestWithParam<LoweringCase> {};

TEST_P(Lowering, SwitchedOffGivesTheSameAnswers) {
  const Graph graph = graph_of(GetParam().text);
  const std::vector<Tensor> inputs = inputs_of(graph, GetParam().positive);
  const std::vector<Tensor> expected = reference(graph, inputs);

  Session lowered = session_of(graph, false);
  EXPECT_TRUE(lowered.plan().fallback_nodes.empty()) << lowered.plan().fallback_nodes.front();
  expect_same(answers(lowered, inputs), expected);

  Session evaluated = session_of(graph, false, {std::string(GetParam().op_type)});
  EXPECT_EQ(evaluated.plan().fallback_nodes.size(), 1U);
  expect_same(answers(evaluated, inputs), expected);
}

INSTANTIATE_TEST_SUITE_P(Operators, Lowering, ::testing::ValuesIn(kLoweringCases),
                         [](const auto& test) { return std::format("{}_{}", test.param.op_type, test.param.name); });

TEST(LoweringCases, EveryOperatorThatLowersHasOne) {
  for (const Op& op : all_ops()) {
    if (op.domain != "") continue;  // com.microsoft has operators of the same names, which load takes apart
    const bool has_case = std::ranges::contains(kLoweringCases, op.op_type, &LoweringCase::op_type);
    EXPECT_EQ(op.lower != nullptr, has_case) << op.op_type;
  }
}

// XNNPACK would join them and write the bounds over the layer's paddings: planning fails then, or takes what it finds.
// Where the layer is a kernel's of our own there is nothing to join.
TEST(BoundsBehindPaddings, RunApartUnlessTheyLeaveThePaddingsAlone) {
  const auto graph_with = [](std::string_view layer, std::string_view bounds) {
    return graph_of(std::format("%x = input f32[1,4,6,8]\n%1 = {}\n%2 = Clip(%1, {})\noutput %2", layer, bounds));
  };
  for (const std::string_view layer :
       {"Conv(%x, w:f32[4,4,3,3]#w) {pads=[1,1,1,1]}", "Conv(%x, w:f32[4,1,3,3]#w) {group=4, pads=[1,1,1,1]}",
        "AveragePool(%x) {kernel_shape=[2,2], pads=[1,0,0,0]}", "MaxPool(%x) {kernel_shape=[2,2], pads=[1,1,1,1]}"}) {
    for (const std::string_view bounds : {"a:f32[]{0.25}", "a:f32[]{-1}, b:f32[]{0}", "a:f32[]{-2}, b:f32[]{-0.5}",
                                          "a:f32[]{1e-40}", "a:f32[]{-0}, b:f32[]{6}"}) {
      const Graph graph = graph_with(layer, bounds);
      const std::vector<Tensor> inputs = inputs_of(graph, false);
      Session session = session_of(graph, false);
      const bool layer_is_ours =
          std::ranges::any_of(session.plan().steps, [](const StepInfo& step) { return step.kernel.has_value(); });
      EXPECT_EQ(session.plan().fallback_nodes.size(), layer_is_ours ? 0U : 1U) << layer << bounds;
      expect_same(answers(session, inputs), reference(graph, inputs));
      Session optimised = session_of(graph, true);
      EXPECT_TRUE(optimised.plan().fallback_nodes.empty()) << layer << bounds;
      expect_same(answers(optimised, inputs), reference(graph, inputs));
    }
    const Graph usual = graph_with(layer, "a:f32[]{0}, b:f32[]{6}");
    const std::vector<Tensor> inputs = inputs_of(usual, false);
    Session session = session_of(usual, false);
    EXPECT_TRUE(session.plan().fallback_nodes.empty()) << layer;
    expect_same(answers(session, inputs), reference(usual, inputs));
  }
}

// Whole little networks, optimised as a session does it, with each of their operators switched off in turn: segments
// on both sides of the fallback, layout changes at the borders, values that several segments read.
struct Network {
  const char* name;
  const char* text;
  float step =
      0;  // of 8-bit outputs: XNNPACK adds and converts them by fixed-point factors, a level may be the next one
};

void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

constexpr Network kNetworks[] = {
    {"residual", R"(
%x = input f32[1,3,12,12]
%1 = Pad(%x, p:i64[8]{0,0,0,0,0,0,1,1})
%2 = Conv(%1, w1:f32[8,3,3,3]#w1, b1:f32[8]#b1) {strides=[2,2]}
%3 = BatchNormalization(%2, s:f32[8]#+s, b:f32[8]#b, m:f32[8]#m, v:f32[8]#+v)
%4 = Clip(%3, lo:f32[]{0}, hi:f32[]{6})
%5 = Conv(%4, w2:f32[8,1,3,3]#w2, b2:f32[8]#b2) {group=8, pads=[1,1,1,1]}
%6 = Relu(%5)
%7 = Conv(%6, w3:f32[8,8,1,1]#w3, b3:f32[8]#b3)
%8 = Add(%4, %7)
%9 = GlobalAveragePool(%8)
%10 = Flatten(%9)
%11 = Gemm(%10, w4:f32[5,8]#w4, b4:f32[5]#b4) {transB=1}
%12 = Softmax(%11)
output %12
)"},
    {"shuffle_and_excite", R"(
%x = input f32[1,4,8,8]
%1, %2 = Split(%x, s:i64[2]{2,2}) {axis=1}
%3 = Conv(%1, w1:f32[6,2,3,3]#w1, b1:f32[6]#b1) {pads=[1,1,1,1]}
%4 = Sigmoid(%3)
%5 = Mul(%3, %4)
%6 = MaxPool(%2) {kernel_shape=[3,3], pads=[1,1,1,1]}
%7 = Concat(%5, %6) {axis=1}
%8 = Reshape(%7, s1:i64[5]{1,2,4,8,8})
%9 = Transpose(%8) {perm=[0,2,1,3,4]}
%10 = Reshape(%9, s2:i64[4]{1,8,8,8})
%11 = ReduceMean(%10, a:i64[2]{2,3})
%12 = Conv(%11, w2:f32[8,8,1,1]#w2)
%13 = HardSigmoid(%12)
%14 = Mul(%10, %13)
%15 = AveragePool(%14) {kernel_shape=[2,2], strides=[2,2]}
output %15, %7
)"},
    {"integers", R"(
%x = input f32[1,3,8,8]
%1 = QuantizeLinear(%x, s1:f32[]{0.0231}, z1:i8[]{5})
%2 = DequantizeLinear(%1, s1, z1)
%3 = DequantizeLinear(w:i8[4,3,3,3]#w, ws:f32[4]{0.0113,0.0071,0.0213,0.0153}, wz:i8[4]{0,0,0,0}) {axis=0}
%4 = Conv(%2, %3, b:f32[4]{0.5,-0.25,1,0.125}) {pads=[1,1,1,1]}
%5 = QuantizeLinear(%4, s5:f32[]{0.313}, z5:i8[]{-3})
%6 = DequantizeLinear(%5, s5, z5)
%7 = HardSwish(%6)
%8 = QuantizeLinear(%7, s8:f32[]{0.171}, z8:i8[]{-120})
%9 = DequantizeLinear(%8, s8, z8)
%10 = Sigmoid(%6)
%11 = QuantizeLinear(%10, s11:f32[]{0.0039}, z11:i8[]{-128})
%12 = DequantizeLinear(%11, s11, z11)
%13 = Mul(%9, %12)
%14 = QuantizeLinear(%13, s14:f32[]{0.1537}, z14:i8[]{-110})
%15 = DequantizeLinear(%14, s14, z14)
%16 = Add(%15, %9)
%17 = QuantizeLinear(%16, s17:f32[]{0.3079}, z17:i8[]{-100})
%18 = DequantizeLinear(%17, s17, z17)
%19 = Concat(%18, %9) {axis=1}
%20 = QuantizeLinear(%19, s20:f32[]{0.2939}, z20:i8[]{-99})
%21 = DequantizeLinear(%20, s20, z20)
output %21
)",
     0.2939F},
    {"means_of_windows", R"(
%x = input f32[1,6,9,7]
%1 = QuantizeLinear(%x, s1:f32[]{0.0317}, z1:i8[]{10})
%2 = DequantizeLinear(%1, s1, z1)
%3 = AveragePool(%2) {count_include_pad=1, kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}
%4 = QuantizeLinear(%3, s4:f32[]{0.0223}, z4:i8[]{-7})
%5 = DequantizeLinear(%4, s4, z4)
%6 = QuantizeLinear(%x, s6:f32[]{0.0317}, z6:u8[]{110})
%7 = DequantizeLinear(%6, s6, z6)
%8 = AveragePool(%7) {kernel_shape=[2,3]}
%9 = QuantizeLinear(%8, s9:f32[]{0.0213}, z9:u8[]{90})
%10 = DequantizeLinear(%9, s9, z9)
output %5, %10
)",
     0.0223F},
    {"bounds_that_do_not_meet", R"(
%x = input f32[1,3,6,6]
%1 = Clip(%x, a:f32[]{-1}, b:f32[]{0.5})
%2 = Clip(%1, _, c:f32[]{-2.5})
%3 = Relu(%2)
%4 = MaxPool(%x) {kernel_shape=[2,2]}
%5 = Relu(%4)
%6 = Clip(%5, f:f32[]{-3}, g:f32[]{-0.5})
output %3, %6
)"},
    {"rows_of_an_image", R"(
%x = input f32[1,3,6,6]
%1 = Conv(%x, w1:f32[4,3,1,1]#w1)
%2 = Transpose(%1) {perm=[0,2,3,1]}
%3 = Reshape(%2, s:i64[3]{1,36,4})
%4 = MatMul(%3, w2:f32[4,8]#w2)
%5 = Gelu(%4)
%6 = Transpose(%5) {perm=[0,2,1]}
%7 = MatMul(%5, %6)
%8 = Softmax(%7)
%9 = ReduceMean(%8, a:i64[1]{1}) {keepdims=0}
output %9
)"},
    {"windows_of_an_image", R"(
%x = input f32[1,3,4,6]
%1 = Conv(%x, w1:f32[12,3,1,1]#w1)
%2 = Reshape(%1, s1:i64[6]{1,12,2,2,3,2})
%3 = Transpose(%2) {perm=[0,2,4,3,5,1]}
%4 = Reshape(%3, s2:i64[3]{6,4,12})
%5 = LayerNormalization(%4, g:f32[12]#g, h:f32[12]#h)
%6 = MatMul(%5, w2:f32[12,36]#w2)
%7 = Add(%6, b2:f32[36]#b2)
%8 = Reshape(%7, s3:i64[5]{6,4,3,2,6})
%9 = Transpose(%8) {perm=[2,0,3,1,4]}
%10 = Gather(%9, i0:i64[]{0})
%11 = Gather(%9, i1:i64[]{1})
%12 = Gather(%9, i2:i64[]{2})
%13 = Transpose(%11) {perm=[0,1,3,2]}
%14 = MatMul(%10, %13)
%15 = Softmax(%14)
%16 = MatMul(%15, %12)
%17 = Transpose(%16) {perm=[0,2,1,3]}
%18 = Reshape(%17, s4:i64[6]{1,2,3,2,2,12})
%19 = Transpose(%18) {perm=[0,5,1,3,2,4]}
%20 = Reshape(%19, s5:i64[4]{1,12,4,6})
%21 = Add(%1, %20)
%22 = Conv(%21, w3:f32[4,12,3,3]#w3)
output %22
)"},
};

class NetworkLowering : public ::testing::TestWithParam<Network> {};

TEST_P(NetworkLowering, EachOperatorSwitchedOffGivesTheSameAnswers) {
  const Graph graph = graph_of(GetParam().text);
  const std::vector<Tensor> inputs = inputs_of(graph, false);
  const std::vector<Tensor> expected = reference(graph, inputs);
  std::set<std::string> operators;
  for (const NodeId id : graph.nodes()) operators.insert(graph.node(id).op_type);
  for (const bool optimize : {false, true}) {
    Session whole = session_of(graph, optimize);
    expect_same(answers(whole, inputs), expected, GetParam().step);
    for (const StepInfo& step : whole.plan().steps) {  // those that passes make, too
      operators.insert(step.op_type.substr(0, step.op_type.find('+')));
    }
    for (const std::string& op_type : operators) {
      SCOPED_TRACE(op_type + (optimize ? ", optimised" : ""));
      Session session = session_of(graph, optimize, {op_type});
      if (!optimize) {
        EXPECT_FALSE(session.plan().fallback_nodes.empty());
      }
      expect_same(answers(session, inputs), expected, GetParam().step);
    }
    Session evaluated = session_of(graph, optimize, operators);
    EXPECT_EQ(evaluated.plan().segments, 0U);
    expect_same(answers(evaluated, inputs), expected, GetParam().step);
  }
}

// What MaxViT does between convolutions: nothing is turned from NHWC and back.
TEST(RearrangedImages, StayAsTheyLieInMemory) {
  const auto windows = std::ranges::find(kNetworks, std::string_view("windows_of_an_image"), &Network::name);
  const Session session = session_of(graph_of(windows->text), true);
  EXPECT_EQ(session.plan().segments, 1U);
  EXPECT_EQ(session.plan().transposes, 1U);  // the graph's output
  EXPECT_EQ(session.plan().steps.size(), 13U);
}

INSTANTIATE_TEST_SUITE_P(Small, NetworkLowering, ::testing::ValuesIn(kNetworks),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace kinglet::engine
