// SPDX-License-Identifier: Apache-2.0
// What ONNX's own cases (tests/conformance) do not ask for: odd sizes and numbers, and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ops/op.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

// The first output of the graph in `text` for a float input.
std::vector<float> run(std::string_view text, Shape shape, std::initializer_list<float> values) {
  Graph graph = parse_text(text).value().graph;
  EXPECT_TRUE(infer_shapes(graph));
  const std::vector<Tensor> inputs{Tensor::of<float>(std::move(shape), values)};
  const Result<std::vector<Tensor>> outputs = evaluate_graph(graph, inputs);
  EXPECT_TRUE(outputs) << describe(outputs.error());
  return outputs ? outputs->at(0).to_floats() : std::vector<float>{};
}

TEST(EvaluateSoftmax, KeepsSmallDifferencesOfLargeScores) {
  const float low = 1e17F;
  EXPECT_THAT(run("%x = input f32[1,4]\n%1 = Softmax(%x) {axis=1}\noutput %1", {1, 4}, {low, low, low, low}),
              ElementsAre(0.25F, 0.25F, 0.25F, 0.25F));
  EXPECT_THAT(run("%x = input f32[1,2]\n%1 = LogSoftmax(%x) {axis=1}\noutput %1", {1, 2}, {low, low}),
              ElementsAre(FloatNear(-0.693147F, 1e-6F), FloatNear(-0.693147F, 1e-6F)));
}

TEST(EvaluateSum, SpreadsALeadingScalarOverTheResult) {
  EXPECT_THAT(run("%x = input f32[3]\n%1 = Sum(k:f32[]{1}, %x)\noutput %1", {3}, {1, 2, 3}), ElementsAre(2, 3, 4));
  EXPECT_THAT(run("%x = input f32[3]\n%1 = Max(k:f32[]{2}, %x)\noutput %1", {3}, {1, 2, 3}), ElementsAre(2, 2, 3));
}

TEST(EvaluateLrn, DividesByTheSquaresOfNeighbouringChannels) {
  EXPECT_THAT(run("%x = input f32[1,3,1,1]\n%1 = LRN(%x) {size=2, alpha=2.0, beta=1.0, bias=1.0}\noutput %1",
                  {1, 3, 1, 1}, {1, 2, 3}),
              ElementsAre(FloatNear(1.0F / 6, 1e-6F), FloatNear(2.0F / 14, 1e-6F), FloatNear(3.0F / 10, 1e-6F)));
}

}  // namespace
}  // namespace kinglet::engine
