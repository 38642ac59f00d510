// SPDX-License-Identifier: Apache-2.0
#include "engine/tflite/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/ops/op.h"
#include "engine/recipe/recipe.h"
#include "tests/unit/engine_tflite/tflite_model.h"

namespace kinglet::engine {
namespace {

using kinglet::testing::bytes_of;
using kinglet::testing::TfliteModel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int8_t kFloat = 0, kHalf = 1, kInt32 = 2, kUint8 = 3, kInt8 = 9;

Graph imported(const std::string& bytes) {
  auto found = import_tflite(bytes);
  EXPECT_TRUE(found) << describe(found.error());
  return std::move(found->graph);
}

std::vector<float> answer(const Graph& graph, const Shape& shape, const std::vector<float>& input) {
  const std::vector<Tensor> inputs{Tensor::of<float>(shape, std::span(input))};
  const auto out = evaluate_graph(graph, inputs);
  EXPECT_TRUE(out) << describe(out.error());
  const auto numbers = out->front().data<float>();
  return {numbers.begin(), numbers.end()};
}

std::string error_of(const std::string& bytes) {
  const auto graph = import_tflite(bytes);
  EXPECT_FALSE(graph);
  return graph ? "" : describe(graph.error());
}

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> out;
  for (const NodeId id : graph.nodes()) out.push_back(graph.node(id).op_type);
  return out;
}

TEST(TfliteImport, PadsAsSameDoesAndTurnsWeightsAround) {
  TfliteModel model;
  const auto x = model.tensor({.shape = {1, 4, 4, 2}, .type = kFloat});
  // [O,H,W,I]: adds channel 1 of the pixel below and to the right, and twice channel 0 of the pixel itself.
  std::vector<float> weights(2 * 3 * 3, 0.0F);
  weights[0] = 2;                    // row 0, column 0, channel 0
  weights[(1 * 3 + 1) * 2 + 1] = 1;  // row 1, column 1, channel 1
  const auto w = model.tensor({.shape = {1, 3, 3, 2}, .type = kFloat, .data = bytes_of(weights)});
  const auto b = model.tensor({.shape = {1}, .type = kFloat, .data = bytes_of<float>({0.5F})});
  const auto y = model.tensor({.shape = {1, 2, 2, 1}, .type = kFloat});
  model.op(3, {x, w, b}, {y}, engine::tflite::CreateConvOptions(model.builder(), 0, 2, 2, 3).Union());
  const Graph graph = imported(model.bytes({x}, {y}));
  EXPECT_THAT(operators(graph), ElementsAre("Conv", "Clip"));
  EXPECT_THAT(graph.node(graph.nodes()[0]).attributes.get_ints("pads"), ElementsAre(0, 0, 1, 1));
  std::vector<float> input(32);
  for (std::size_t i = 0; i < 16; ++i) input[i] = static_cast<float>(i) / 8;         // channel 0, rows of 4
  for (std::size_t i = 0; i < 16; ++i) input[16 + i] = -static_cast<float>(i) / 16;  // channel 1
  // Window at (0, 0): 2 * x0(0,0) + x1(1,1) + 0.5; at (2, 2): 2 * x0(2,2) + x1(3,3) + 0.5.
  EXPECT_THAT(answer(graph, {1, 2, 4, 4}, input),
              ElementsAre(0 - 5.0F / 16 + 0.5F, 4.0F / 8 - 7.0F / 16 + 0.5F, 16.0F / 8 - 13.0F / 16 + 0.5F,
                          20.0F / 8 - 15.0F / 16 + 0.5F));
}

TEST(TfliteImport, KeepsTheOrderOfAFlattenedImage) {
  TfliteModel model;
  const auto x = model.tensor({.shape = {1, 2, 2, 2}, .type = kFloat});
  const auto flat = model.tensor({.shape = {1, 8}, .type = kFloat});
  const auto shape = model.tensor({.shape = {2}, .type = kInt32, .data = bytes_of<std::int32_t>({1, 8})});
  model.op(22, {x, shape}, {flat});
  const Graph graph = imported(model.bytes({x}, {flat}));
  // [1,C,H,W] 0..7 is read as [H,W,C].
  EXPECT_THAT(answer(graph, {1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
}

TEST(TfliteImport, KeepsLevelsAndTellsTheRecipe) {
  TfliteModel model;
  const auto x = model.tensor({.shape = {1, 2, 2, 3}, .type = kUint8, .scale = {1.0F / 64}, .zero_point = {100}});
  const auto w = model.tensor({.shape = {1, 1, 1, 6},
                               .type = kInt8,
                               .data = bytes_of<std::int8_t>({1, 2, 3, -4, 5, 127}),
                               .scale = {0.5F, 0.25F, 1, 2, 4, 0.125F},
                               .zero_point = {0, 0, 0, 0, 0, 0},
                               .axis = 3});
  const auto y = model.tensor({.shape = {1, 2, 2, 6}, .type = kUint8, .scale = {0.5F}, .zero_point = {7}});
  const auto options = engine::tflite::CreateDepthwiseConvOptions(model.builder(), 1, 1, 1, 2, 0);
  model.op(4, {x, w, -1}, {y}, options.Union());
  const Graph graph = imported(model.bytes({x}, {y}));
  EXPECT_THAT(operators(graph), ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv",
                                            "QuantizeLinear", "DequantizeLinear"));
  const Node& weight = graph.node(graph.nodes()[2]);
  EXPECT_EQ(graph.constant(weight.inputs[0])->shape(), (Shape{6, 1, 1, 1}));
  EXPECT_EQ(weight.attributes.get_int("axis", -1), 0);
  EXPECT_THAT(graph.constant(weight.inputs[0])->data<std::int8_t>(), ElementsAre(1, 2, 3, -4, 5, 127));

  const auto& properties = graph.metadata.properties;
  const auto found =
      std::ranges::find(properties, std::string(kRecipeProperty), &std::pair<std::string, std::string>::first);
  ASSERT_NE(found, properties.end());
  const auto recipe = parse_recipe(found->second, "test");
  ASSERT_TRUE(recipe) << describe(recipe.error());
  EXPECT_EQ(recipe->mean[0], 100);
  EXPECT_EQ(recipe->std[0], 64);
}

TEST(TfliteImport, ReadsHalfFloatsBehindADequantize) {
  TfliteModel model;
  const auto x = model.tensor({.shape = {1, 1, 1, 2}, .type = kFloat});
  const auto half =
      model.tensor({.shape = {1, 2}, .type = kHalf, .data = bytes_of<std::uint16_t>({0x3C00, 0xC000})});  // 1, -2
  const auto w = model.tensor({.shape = {1, 2}, .type = kFloat});
  const auto flat = model.tensor({.shape = {1, 2}, .type = kFloat});
  const auto y = model.tensor({.shape = {1, 1}, .type = kFloat});
  model.op(6, {half}, {w});
  model.op(43, {x}, {flat});
  model.op(9, {flat, w}, {y}, engine::tflite::CreateActivationOptions(model.builder(), 0).Union());
  EXPECT_THAT(answer(imported(model.bytes({x}, {y})), {1, 2, 1, 1}, {5, 1}), ElementsAre(3));
}

TEST(TfliteImport, TakesMeansPoolsJoinsAndSoftmax) {
  TfliteModel model;
  const auto x = model.tensor({.shape = {1, 2, 2, 1}, .type = kFloat});
  const auto pooled = model.tensor({.shape = {1, 1, 1, 1}, .type = kFloat});
  const auto mean = model.tensor({.shape = {1, 1, 1, 1}, .type = kFloat});
  const auto axes = model.tensor({.shape = {2}, .type = kInt32, .data = bytes_of<std::int32_t>({1, 2})});
  const auto both = model.tensor({.shape = {1, 1, 1, 2}, .type = kFloat});
  const auto flat = model.tensor({.shape = {1, 2}, .type = kFloat});
  const auto y = model.tensor({.shape = {1, 2}, .type = kFloat});
  model.op(17, {x}, {pooled}, engine::tflite::CreatePoolOptions(model.builder(), 1, 2, 2, 2, 2, 0).Union());
  model.op(40, {x, axes}, {mean}, engine::tflite::CreateReducerOptions(model.builder(), true).Union());
  model.op(2, {pooled, mean}, {both}, engine::tflite::CreateConcatenationOptions(model.builder(), 3, 0).Union());
  model.op(43, {both}, {flat});
  model.op(25, {flat}, {y}, engine::tflite::CreateSoftmaxOptions(model.builder(), 1).Union());
  const std::vector<float> found = answer(imported(model.bytes({x}, {y})), {1, 1, 2, 2}, {1, 2, 3, 6});  // 6 and 3
  EXPECT_NEAR(found[0], 1 / (1 + std::exp(-3.0F)), 1e-6);
}

TEST(TfliteImport, RefusesOtherOperatorsByName) {
  TfliteModel detector;
  const auto x = detector.tensor({.shape = {1, 2, 2, 1}, .type = kFloat});
  const auto y = detector.tensor({.shape = {1, 2}, .type = kFloat});
  detector.op(32, {x}, {y}, 0, "TFLite_Detection_PostProcess");
  EXPECT_THAT(error_of(detector.bytes({x}, {y})), HasSubstr("TFLite_Detection_PostProcess"));
  TfliteModel other;
  const auto a = other.tensor({.shape = {1, 2, 2, 1}, .type = kFloat});
  const auto b = other.tensor({.shape = {1, 4, 4, 1}, .type = kFloat});
  other.op(23, {a}, {b});
  EXPECT_THAT(error_of(other.bytes({a}, {b})), HasSubstr("RESIZE_BILINEAR"));
}

TEST(TfliteImport, RefusesWhatContradictsItself) {
  EXPECT_THAT(error_of("not a model"), HasSubstr("not a TensorFlow Lite model"));
  const auto small = [](std::uint32_t version, int graphs, const std::vector<std::uint8_t>& data, std::int32_t reads) {
    TfliteModel model;
    const auto x = model.tensor({.shape = {1, 2, 2, 1}, .type = kFloat});
    const auto c = model.tensor({.shape = {2}, .type = kFloat, .data = data});
    const auto y = model.tensor({.shape = {1, 2, 2, 1}, .type = kFloat});
    static_cast<void>(c);
    model.op(14, {reads}, {y});
    return model.bytes({x}, {y}, version, graphs);
  };
  const std::vector<std::uint8_t> eight(8);
  EXPECT_TRUE(import_tflite(small(3, 1, eight, 0)));
  EXPECT_THAT(error_of(small(2, 1, eight, 0)), HasSubstr("version 2"));
  EXPECT_THAT(error_of(small(3, 2, eight, 0)), HasSubstr("one graph"));
  EXPECT_THAT(error_of(small(3, 1, {1, 2, 3}, 0)), HasSubstr("3 bytes for 2 elements"));
  EXPECT_THAT(error_of(small(3, 1, eight, 7)), HasSubstr("tensor 7 of 3"));
  EXPECT_THAT(error_of(small(3, 1, eight, 2)), HasSubstr("before it is made"));
}

TEST(TfliteImport, SurvivesDamagedBytes) {
  TfliteModel model;
  const auto x = model.tensor({.shape = {1, 2, 2, 1}, .type = kUint8, .scale = {0.5F}, .zero_point = {1}});
  const auto y = model.tensor({.shape = {1, 2, 2, 1}, .type = kUint8, .scale = {0.5F}, .zero_point = {1}});
  model.op(14, {x}, {y});
  kinglet::testing::damage(model.bytes({x}, {y}),
                           [](const std::string& bytes) { static_cast<void>(import_tflite(bytes)); });
}

}  // namespace
}  // namespace kinglet::engine
