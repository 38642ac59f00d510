// SPDX-License-Identifier: Apache-2.0
// Scales and zero points that no sane tool writes, but files may hold: a session answers as the operators say, in
// integers or not, or refuses the file with a reason.
#include <gtest/gtest.h>

#include <cmath>
#include <format>
#include <random>

#include "engine/session/session.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

struct Oddity {
  const char* name;
  const char* input_scale;
  const char* weight;  // DequantizeLinear's inputs and attributes
  const char* output_scale;
};

void PrintTo(const Oddity& oddity, std::ostream* out) { *out << oddity.name; }

constexpr const char* kPlain = "w, ws:f32[3]{0.01,0.02,0.03}, wz:i8[3]{0,0,0}) {axis=0}";
constexpr Oddity kOddities[] = {
    {"plain", "0.03", kPlain, "0.1"},
    {"input_scale_of_0", "0", kPlain, "0.1"},
    {"input_scale_below_0", "-0.03", kPlain, "0.1"},
    {"tiny_input_scale", "1e-40", kPlain, "0.1"},
    {"huge_input_scale", "1e30", kPlain, "0.1"},
    {"output_scale_of_0", "0.03", kPlain, "0"},
    {"output_scale_below_0", "0.03", kPlain, "-0.1"},
    {"tiny_output_scale", "0.03", kPlain, "1e-30"},
    {"huge_output_scale", "0.03", kPlain, "1e30"},
    {"dead_channel", "0.03", "w, ws:f32[3]{0.01,0,0.03}, wz:i8[3]{0,0,0}) {axis=0}", "0.1"},
    {"weight_scale_below_0", "0.03", "w, ws:f32[3]{0.01,-0.02,0.03}, wz:i8[3]{0,0,0}) {axis=0}", "0.1"},
    {"huge_weight_scale", "0.03", "w, ws:f32[3]{0.01,1e30,0.03}, wz:i8[3]{0,0,0}) {axis=0}", "0.1"},
    {"tiny_weight_scale", "0.03", "w, ws:f32[3]{0.01,1e-40,0.03}, wz:i8[3]{0,0,0}) {axis=0}", "0.1"},
    {"zero_points_of_weights", "0.03", "w, ws:f32[3]{0.01,0.02,0.03}, wz:i8[3]{0,5,0}) {axis=0}", "0.1"},
    {"scales_along_the_inputs", "0.03", "w, ws:f32[2]{0.01,0.02}, wz:i8[2]{0,0}) {axis=1}", "0.1"},
    {"no_zero_point", "0.03", "w, ws:f32[3]{0.01,0.02,0.03}) {axis=0}", "0.1"},
};

std::string text_of(const Oddity& oddity) {
  return std::format(
      "%x = input f32[1,2,4,4]\n%1 = QuantizeLinear(%x, s:f32[]{{{}}}, z:i8[]{{3}})\n%2 = DequantizeLinear(%1, s, z)\n"
      "%3 = DequantizeLinear({}\n%4 = Conv(%2, %3, b:f32[3]{{0.5,-0.25,1}})\n"
      "%5 = QuantizeLinear(%4, t:f32[]{{{}}}, u:i8[]{{-4}})\n%6 = DequantizeLinear(%5, t, u)\noutput %6\n",
      oddity.input_scale, std::string(oddity.weight).replace(0, 1, "w:i8[3,2,1,1]{50,-60,70,80,-90,100}"),
      oddity.output_scale);
}

class OddQuantization : public ::testing::TestWithParam<Oddity> {};

TEST_P(OddQuantization, IsAnsweredAsTheOperatorsSay) {
  const Graph graph = graph_of(text_of(GetParam()));
  auto session = Session::create(Graph(graph), {});
  ASSERT_TRUE(session) << describe(session.error());
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Tensor input(DataType::kF32, {1, 2, 4, 4});
  for (float& x : input.mutable_data<float>()) x = normal(random);
  ASSERT_TRUE(session->set_input(0, input));
  ASSERT_TRUE(session->run());
  const Tensor found = session->get_output(0);
  const std::vector<Tensor> given{input};
  const auto expected = evaluate_graph(graph, given);
  ASSERT_TRUE(expected) << describe(expected.error());
  const float level = std::abs(std::strtof(GetParam().output_scale, nullptr));
  for (std::size_t i = 0; i < found.data<float>().size(); ++i) {
    const float want = expected->front().data<float>()[i];
    const float got = found.data<float>()[i];
    if (std::isnan(want) && std::isnan(got)) continue;
    if (want == got) continue;
    ASSERT_NEAR(got, want, 1.001F * level + 2e-5F * std::abs(want)) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Scales, OddQuantization, ::testing::ValuesIn(kOddities),
                         [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace kinglet::engine
