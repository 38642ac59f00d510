// SPDX-License-Identifier: Apache-2.0
// Real models with each of their operators switched off in turn: weights that were trained, 8-bit ranges, asymmetric
// padding. The answers stay those of the whole plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <format>

#include "engine/session/session.h"
#include "tests/support/corpus.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

struct Model {
  const char* name;
  float limit;
};

// 8-bit: one value that rounds the other way moves a whole step of a layer.
constexpr Model kModels[] = {{"flowers_mobilenetv2_035_128_fp32_bn", 2e-6F},
                             {"imagenet_mobilenetv1_050_160_fp32", 2e-6F},
                             {"imagenet_mobilenetv2_s8_qdq", 0.05F}};

class CorpusLowering : public ::testing::TestWithParam<Model> {};

Session open(const char* name, std::set<std::string> disabled) {
  auto session = Session::open(testing::corpus() / "models" / std::format("{}.onnx", name),
                               {.disabled_lowerings = std::move(disabled)});
  if (!session) throw std::runtime_error(describe(session.error()));
  return std::move(*session);
}

Tensor answer(Session& session) {
  const TensorInfo& input = session.inputs().front();
  EXPECT_TRUE(session.set_input(0, seeded_tensor(input.type, input.shape, "photograph")));
  const auto done = session.run();
  EXPECT_TRUE(done) << describe(done.error());
  return session.get_output(0);
}

TEST_P(CorpusLowering, EachOperatorSwitchedOffGivesTheSameAnswer) {
  KINGLET_NEEDS_CORPUS();
  Session whole = open(GetParam().name, {});
  const Tensor expected = answer(whole);
  std::set<std::string> operators;
  for (const StepInfo& step : whole.plan().steps) operators.insert(step.op_type.substr(0, step.op_type.find('+')));
  ASSERT_TRUE(operators.contains("Conv") || operators.contains("QLinearConv"));
  for (const std::string& op_type : operators) {
    SCOPED_TRACE(op_type);
    Session session = open(GetParam().name, {op_type});
    EXPECT_FALSE(session.plan().fallback_nodes.empty());
    const Tensor found = answer(session);
    float largest = 0;
    for (std::size_t i = 0; i < expected.data<float>().size(); ++i) {
      largest = std::max(largest, std::abs(found.data<float>()[i] - expected.data<float>()[i]));
    }
    EXPECT_LE(largest, GetParam().limit);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CorpusLowering, ::testing::ValuesIn(kModels),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace kinglet::engine
