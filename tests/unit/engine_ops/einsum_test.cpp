// SPDX-License-Identifier: Apache-2.0
// Einsum's equation and its sums; ONNX's own cases have none in float32. Numbers by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <format>

#include "engine/ops/op.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Outcome {
  std::string error;
  Shape shape;
  std::vector<float> numbers;
};

// Einsum of two constants, and of `a` alone where b is empty.
Outcome einsum(std::string_view equation, std::string_view a, std::string_view b) {
  const std::string text = std::format("%x = input f32[1]\n%1 = Einsum(a:f32{}{}) {{equation=\"{}\"}}\noutput %1", a,
                                       b.empty() ? "" : std::format(", b:f32{}", b), equation);
  Graph graph = parse_text(text).value().graph;
  if (const Result<void> inferred = infer_shapes(graph); !inferred) return {describe(inferred.error()), {}, {}};
  const Shape shape = graph.value(graph.outputs()[0]).shape.value_or(Shape{-2});
  const auto outputs = evaluate_graph(graph, std::vector{Tensor(DataType::kF32, {1})});
  if (!outputs) return {describe(outputs.error()), shape, {}};
  EXPECT_EQ(outputs->at(0).shape(), shape);
  return {{}, shape, outputs->at(0).to_floats()};
}

constexpr std::string_view kMatrix = "[2,3]{1,2,3,4,5,6}";
constexpr std::string_view kSquare = "[2,2]{1,2,3,4}";

TEST(Einsum, MultipliesMatrices) {
  const Outcome product = einsum("ij,jk->ik", kSquare, kMatrix);
  EXPECT_EQ(product.shape, (Shape{2, 3}));
  EXPECT_THAT(product.numbers, ElementsAre(9, 12, 15, 19, 26, 33));
}

TEST(Einsum, TakesTheDiagonalOfARepeatedLetter) {
  EXPECT_THAT(einsum("ii->i", kSquare, "").numbers, ElementsAre(1, 4));
  EXPECT_THAT(einsum("ii", kSquare, "").numbers, ElementsAre(5));
}

TEST(Einsum, SortsTheLettersOfAnOutputThatIsNotWritten) {
  const Outcome transposed = einsum("ba", kMatrix, "");
  EXPECT_EQ(transposed.shape, (Shape{3, 2}));
  EXPECT_THAT(transposed.numbers, ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Einsum, AlignsTheEllipsisAsBroadcastingDoes) {
  const Outcome sums = einsum("...j,j->...", "[2,1,3]{1,2,3,4,5,6}", "[3]{1,10,100}");
  EXPECT_EQ(sums.shape, (Shape{2, 1}));
  EXPECT_THAT(sums.numbers, ElementsAre(321, 654));
  EXPECT_EQ(einsum("...i,...i->...", "[4,2,3]#1", "[2,3]#2").shape, (Shape{4, 2}));
}

TEST(Einsum, SpreadsADimensionOfOne) {
  EXPECT_THAT(einsum("i,i->", "[1]{2}", "[3]{1,2,3}").numbers, ElementsAre(12));
  EXPECT_THAT(einsum("ij,ij->ij", kMatrix, "[2,1]{1,10}").numbers, ElementsAre(1, 2, 3, 40, 50, 60));
}

TEST(Einsum, SumsWhatOneInputAloneNamesBeforeMultiplying) {
  EXPECT_THAT(einsum("ij,k->i", kMatrix, "[2]{1,1}").numbers, ElementsAre(12, 30));
}

TEST(Einsum, RefusesEquationsThatDoNotFit) {
  EXPECT_THAT(einsum("ij,jk,kl->il", kSquare, kSquare).error, HasSubstr("3 terms for 2 inputs"));
  EXPECT_THAT(einsum("ijk->i", kSquare, "").error, HasSubstr("names 3 dimensions, input 0 has 2"));
  EXPECT_THAT(einsum("ij->ijj", kSquare, "").error, HasSubstr("names a letter twice"));
  EXPECT_THAT(einsum("ij->k", kSquare, "").error, HasSubstr("no input has"));
  EXPECT_THAT(einsum("i1->i", kSquare, "").error, HasSubstr("not made of letters"));
  EXPECT_THAT(einsum("ij,jk->ik", kMatrix, kSquare).error, HasSubstr("another of the same letter"));
}

TEST(Einsum, RefusesAPartialProductThatGrowsBeyondAllInputs) {
  const std::string text =
      "%x = input f32[1,20000]\n%1 = Einsum(%x, %x, %x, %x) {equation=\"ab,cd,bd,bd->a\"}\noutput %1";
  Graph graph = parse_text(text).value().graph;
  ASSERT_TRUE(infer_shapes(graph));
  const auto outputs = evaluate_graph(graph, std::vector{Tensor(DataType::kF32, {1, 20000})});
  ASSERT_FALSE(outputs);
  EXPECT_THAT(describe(outputs.error()), HasSubstr("too large"));
}

TEST(Einsum, RefusesToMultiplyManySmallInputsOut) {
  const std::string text =
      "%x = input f32[60]\n%1 = Einsum(%x, %x, %x, %x, k:f32[60,60]#1, k, k) "
      "{equation=\"a,b,c,d,ab,bc,cd->\"}\noutput %1";
  Graph graph = parse_text(text).value().graph;
  ASSERT_TRUE(infer_shapes(graph));
  EXPECT_FALSE(evaluate_graph(graph, std::vector{Tensor(DataType::kF32, {60})}));
}

}  // namespace
}  // namespace kinglet::engine
