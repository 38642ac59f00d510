// SPDX-License-Identifier: Apache-2.0
#include "engine/recipe/output_meaning.h"
#include "engine/ops/levels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Five scores out of a picture, then what the case adds; `%logits` is [1,5], `%pooled` [1,8,1,1], `%map` [1,8,4,4].
std::string head(std::string_view tail) {
  return "%x = input f32[1,3,4,4]\n%map = Conv(%x, w:f32[8,3,1,1]#1)\n%pooled = GlobalAveragePool(%map)\n"
         "%features = Flatten(%pooled)\n%logits = Gemm(%features, v:f32[8,5]#2)\n" +
         std::string(tail);
}

Result<OutputMeaning> decide(const std::string& text, const OutputWish& wish = {}) {
  const Graph graph = graph_of(text);
  return decide_output(output_forms(graph, kRowRules), wish);
}

struct Tail {
  std::string_view name, text, expected;  // "meaning of output by what decided"
};

std::string said(const Result<OutputMeaning>& found) {
  if (!found) return found.error().message;
  return std::string(to_string(found->meaning)) + " of " + found->name + " by " + found->decided_by;
}

class Meanings : public ::testing::TestWithParam<Tail> {};

TEST_P(Meanings, AreDecidedByTheLastOperators) { EXPECT_EQ(said(decide(head(GetParam().text))), GetParam().expected); }

constexpr Tail kTails[] = {
    {"Gemm", "output %logits\n", "logits of logits by last operator Gemm"},
    {"Pooling", "output %pooled\n", "logits of pooled by last operator GlobalAveragePool"},
    {"SoftMax", "%y = Softmax(%logits)\noutput %y\n", "probabilities of y by last operator Softmax"},
    {"HardMax", "%y = Hardmax(%logits)\noutput %y\n", "probabilities of y by last operator Hardmax"},
    {"LogSoftMax", "%y = LogSoftmax(%logits)\noutput %y\n", "logits of y by last operator LogSoftmax"},
    {"ExpOfLogSoftMax", "%1 = LogSoftmax(%logits)\n%y = Exp(%1)\noutput %y\n",
     "probabilities of y by last operator Exp"},
    {"SharesOfWhatIsNeverNegative",
     "%1 = Softplus(%logits)\n%2 = Sqrt(%1)\n%3 = ReduceSum(%2, a:i64[1]{-1})\n%y = Div(%2, %3)\noutput %y\n",
     "probabilities of y by last operator Div"},
    {"SharesOfAnyNumbers", "%1 = ReduceSum(%logits, a:i64[1]{-1})\n%y = Div(%logits, %1)\noutput %y\n",
     "logits of y by last operator Div"},
    {"SoftMaxWrittenOut", "%1 = Exp(%logits)\n%2 = ReduceSum(%1, a:i64[1]{-1})\n%y = Div(%1, %2)\noutput %y\n",
     "probabilities of y by last operator Div"},
    {"SoftMaxMovedAbout",
     "%1 = Softmax(%logits)\n%2 = Reshape(%1, s:i64[4]{1,5,1,1})\n%3 = Identity(%2)\n%4 = Squeeze(%3, a:i64[2]{2,3})\n"
     "%y = Flatten(%4)\noutput %y\n",
     "probabilities of y by last operator Softmax"},
    {"SoftMaxInHalves", "%1 = Cast(%logits) {to=10}\n%2 = Softmax(%1)\n%y = Cast(%2) {to=1}\noutput %y\n",
     "probabilities of y by last operator Softmax"},
    {"SoftMaxInEightBits",
     "%1 = Softmax(%logits)\n%2 = QuantizeLinear(%1, s:f32[]{0.00390625}, z:u8[]{0})\n"
     "%y = DequantizeLinear(%2, s, z)\noutput %y\n",
     "probabilities of y by last operator Softmax"},
    {"SoftMaxThatEndsInEightBits",
     "%1 = Softmax(%logits)\n%y:u8[1,5] = QuantizeLinear(%1, s:f32[]{0.00390625}, z:u8[]{0})\noutput %y\n",
     "probabilities of y by last operator Softmax"},
    {"LogitsInEightBits",
     "%1 = QuantizeLinear(%logits, s:f32[]{0.1}, z:u8[]{7})\n%y = DequantizeLinear(%1, s, z)\noutput %y\n",
     "logits of y by last operator Gemm"},
    {"SoftMaxHeldOffZero", "%1 = Softmax(%logits)\n%y = Clip(%1, a:f32[]{0.0000001}, b:f32[]{1})\noutput %y\n",
     "probabilities of y by last operator Softmax"},
    {"MeanOfTwoSoftMaxes",
     "%1 = Softmax(%logits)\n%o = Gemm(%features, u:f32[8,5]#3)\n%2 = Softmax(%o)\n%3 = Add(%1, %2)\n"
     "%y = Mul(%3, h:f32[]{0.5})\noutput %y\n",
     "probabilities of y by last operator Softmax"},
    {"SoftMaxOfEachPlace", "%1 = Softmax(%map) {axis=1}\n%y = GlobalAveragePool(%1)\noutput %y\n",
     "probabilities of y by last operator Softmax"},
    {"OneOfEachPair",
     "%1 = Gemm(%features, u:f32[8,10]#3)\n%2 = Reshape(%1, s:i64[3]{1,5,2})\n%3 = Softmax(%2)\n"
     "%4 = Slice(%3, a:i64[1]{1}, b:i64[1]{2}, c:i64[1]{2})\n%y = Flatten(%4)\noutput %y\n",
     "independent of y by last operator Softmax"},
    {"Sigmoid", "%y = Sigmoid(%logits)\noutput %y\n", "independent of y by last operator Sigmoid"},
    {"HardSigmoid", "%y = HardSigmoid(%logits)\noutput %y\n", "independent of y by last operator HardSigmoid"},
    {"SigmoidInEightBits",
     "%1 = Sigmoid(%logits)\n%2 = QuantizeLinear(%1, s:f32[]{0.00390625}, z:u8[]{0})\n"
     "%3 = DequantizeLinear(%2, s, z)\n%y = Flatten(%3)\noutput %y\n",
     "independent of y by last operator Sigmoid"},
    {"SigmoidWrittenOut", "%1 = Neg(%logits)\n%2 = Exp(%1)\n%3 = Add(%2, e:f32[]{1})\n%y = Div(e, %3)\noutput %y\n",
     "independent of y by last operator Div"},
    {"ScoreTimesObject",
     "%1 = Sigmoid(%logits)\n%2 = Sigmoid(%features)\n%3 = ReduceMean(%2, a:i64[1]{1})\n"
     "%y = Mul(%1, %3)\noutput %y\n",
     "independent of y by last operator Mul"},
    {"ClippedToOne", "%y = Clip(%logits, a:f32[]{0}, b:f32[]{1})\noutput %y\n",
     "independent of y by last operator Clip"},
    {"ASwishIsNoSigmoid", "%1 = Sigmoid(%logits)\n%y = Mul(%logits, %1)\noutput %y\n",
     "logits of y by last operator Mul"},
    {"ReluSix", "%y = Clip(%logits, a:f32[]{0}, b:f32[]{6})\noutput %y\n", "logits of y by last operator Clip"},
    {"InPercent", "%1 = Softmax(%logits)\n%y = Mul(%1, h:f32[]{100})\noutput %y\n",
     "output \"y\" is f32 [1,5]: scores of 0 to 100 by its last operators, expected 0 to 1"},
    {"TopK", "%1 = Softmax(%logits)\n%best, %at:i64 = TopK(%1, k:i64[1]{3})\noutput %best\noutput %at\n",
     "top_k of best by last operator TopK"},
    {"TopKTheOtherWayRound", "%best, %at:i64 = TopK(%logits, k:i64[1]{3})\noutput %at\noutput %best\n",
     "top_k of best by last operator TopK"},
    {"TopKWithoutNumbers", "%best, %at:i64 = TopK(%logits, k:i64[1]{3})\noutput %at\n",
     "top_k of at by last operator TopK"},
    {"SoftMaxOfTheBest", "%best, %at:i64 = TopK(%logits, k:i64[1]{3})\n%y = Softmax(%best)\noutput %y\noutput %at\n",
     "top_k of y by last operator TopK"},
    {"TopKWithoutIndices", "%best, %at:i64 = TopK(%logits, k:i64[1]{3})\noutput %best\n",
     "output \"best\" is f32 [1,3]: the best numbers without the classes that they are of"},
    {"TopKOfTheSmallest", "%best, %at:i64 = TopK(%logits, k:i64[1]{3}) {largest=0}\noutput %at\n",
     "output \"at\" is i64 [1,3]: TopK of the smallest numbers"},
    {"ArgMax", "%at:i64 = ArgMax(%logits) {axis=1}\noutput %at\n", "top_k of at by last operator ArgMax"},
    {"ArgMaxAsFloat", "%1:i64 = ArgMax(%logits) {axis=1, keepdims=0}\n%y = Cast(%1) {to=1}\noutput %y\n",
     "top_k of y by last operator ArgMax"},
    {"ArgMaxWithItsNumber",
     "%1 = Softmax(%logits)\n%y = ReduceMax(%1, a:i64[1]{1})\n%at:i64 = ArgMax(%1) {axis=1}\noutput %y\noutput %at\n",
     "top_k of y by last operator ArgMax"},
    {"AllScoresBesideTheArgMax", "%at:i64 = ArgMax(%logits) {axis=1}\noutput %at\noutput %logits\n",
     "logits of logits by last operator Gemm; it has all classes"},
    {"TheLastOfAChain", "%y = Softmax(%logits)\noutput %features\noutput %logits\noutput %y\n",
     "probabilities of y by last operator Softmax; it is computed last"},
    {"TheMainOfTwoHeads", "%aux_logits = Gemm(%features, u:f32[8,5]#3)\noutput %aux_logits\noutput %logits\n",
     "logits of logits by last operator Gemm; by its name"},
    {"AMapBesideTheScores", "output %map\noutput %logits\n", "logits of logits by last operator Gemm"},
    {"AMap", "output %map\n", "output \"map\" is f32 [1,8,4,4]: a map (of places or features), not one score a class"},
    {"Boxes", "%1 = Reshape(%map, s:i64[3]{1,8,16})\noutput %1\n",
     "output \"1\" is f32 [1,8,16]: rows of numbers, as boxes of a detector or a map, not one score a class"},
    {"BoxesWithTheirScores",
     "%boxes = Reshape(%map, s:i64[3]{1,32,4})\n%1 = ReduceMax(%boxes, a:i64[1]{2}) {keepdims=0}\n%y = Sigmoid(%1)\n"
     "output %boxes\noutput %y\n",
     "output \"boxes\" is f32 [1,32,4]: rows of numbers, as boxes of a detector or a map, not one score a class; "
     "output \"y\" is f32 [1,32]: one number for each box of a detector, not one score a class"},
    {"AMapOfClasses", "%at:i64 = ArgMax(%map) {axis=1}\noutput %at\n",
     "output \"at\" is i64 [1,1,4,4]: rows of numbers, as boxes of a detector or a map, not one score a class"},
    {"Integers", "%y:i64 = Cast(%logits) {to=7}\noutput %y\n", "output \"y\" is of type i64, expected f32, u8 or i8"},
};
INSTANTIATE_TEST_SUITE_P(OfTails, Meanings, ::testing::ValuesIn(kTails),
                         [](const auto& tail) { return std::string(tail.param.name); });

TEST(DecideOutput, TakesTheOneThatFitsTheLabelsAndSaysSo) {
  const std::string two = head("output %features\noutput %logits\n");
  EXPECT_EQ(said(decide(two, {.name = {}, .labels = 5})),
            "logits of logits by last operator Gemm; it fits the 5 labels");
  EXPECT_EQ(said(decide(two, {.name = {}, .labels = 8})),
            "logits of features by last operator GlobalAveragePool; it fits the 8 labels");
}

TEST(DecideOutput, TakesTheOneThatIsNamed) {
  const std::string two = head("output %features\noutput %logits\n");
  EXPECT_EQ(said(decide(two, {.name = "features"})),
            "logits of features by last operator GlobalAveragePool; it was named");
  const auto unknown = decide(two, {.name = "logit"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "the model has no output \"logit\"");
  EXPECT_EQ(unknown.error().hint, "it has \"features\", \"logits\"");
}

TEST(DecideOutput, NamesTheNumbersOrTheIndicesOfATopK) {
  const std::string best =
      head("%best, %at:i64 = TopK(%logits, k:i64[1]{3})\noutput %best\noutput %at\noutput %logits\n");
  for (const std::string_view name : {"best", "at"}) {
    const auto found = decide(best, {.name = name});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->output, 0U);
    EXPECT_EQ(found->indices, 1U);
    EXPECT_EQ(found->classes, 5U);
  }
}

TEST(DecideOutput, AsksWhereSeveralCouldBeTheScores) {
  const auto found = decide(head("%other = Gemm(%features, u:f32[8,5]#3)\n%one = Gemm(%features, t:f32[8,5]#4)\n"
                                 "output %other\noutput %one\n"),
                            {.name = {}, .labels = 5});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message, "2 outputs could be the scores: \"other\" f32 [1,5], \"one\" f32 [1,5]");
  EXPECT_THAT(found.error().hint, HasSubstr("model.output"));
}

TEST(DecideOutput, TheRecipeCountsAndIsSaid) {
  const std::string softmax = head("%y = Softmax(%logits)\noutput %y\n");
  EXPECT_EQ(said(decide(softmax, {.name = {}, .stated = "probabilities"})),
            "probabilities of y by recipe, last operator Softmax");
  EXPECT_EQ(said(decide(softmax, {.name = {}, .stated = "logits"})),
            "logits of y by recipe, not last operator Softmax");
  EXPECT_EQ(said(decide(head("output %logits\n"), {.name = {}, .stated = "independent"})),
            "independent of logits by recipe, not last operator Gemm");
  EXPECT_EQ(said(decide(head("%1 = Softmax(%logits)\n%y = Mul(%1, h:f32[]{100})\noutput %y\n"),
                        {.name = {}, .stated = "logits"})),
            "logits of y by recipe, not last operator Softmax");
  EXPECT_THAT(said(decide(softmax, {.name = {}, .stated = "top_k"})), StartsWith("the recipe says top_k, but output"));
}

TEST(DecideOutput, TheRecipeSaysWhatTheBestNumbersAre) {
  const std::string best = head("%best, %at:i64 = TopK(%logits, k:i64[1]{3})\noutput %best\noutput %at\n");
  EXPECT_EQ(decide(best)->best, Meaning::kLogits);
  const auto stated = decide(best, {.name = {}, .stated = "independent"});
  EXPECT_EQ(stated->best, Meaning::kIndependent);
  EXPECT_EQ(stated->meaning, Meaning::kTopK);
  EXPECT_FALSE(stated->nature(2).add_up_to_one);
}

TEST(DecideOutput, AFreeBatchIsOnePicture) {
  const std::string text =
      "%x = input f32[N,3,4,4]\n%1 = GlobalAveragePool(%x)\n%2 = Flatten(%1)\n%y = Softmax(%2)\noutput %y\n";
  EXPECT_EQ(decide(text)->classes, 3U);
  EXPECT_EQ(class_count(graph_of(text), kRowRules), 3U);
}

TEST(DecideOutput, EightBitsThatNobodyExplainsAreSharesOfOne) {
  const auto found = decide(head("%y:u8 = Cast(%logits) {to=2}\noutput %y\n"));
  EXPECT_EQ(found->meaning, Meaning::kProbabilities);
  const auto scaled =
      decide(head("%1 = Sigmoid(%logits)\n%2 = Mul(%1, m:f32[]{255})\n%y:u8 = Cast(%2) {to=2}\noutput %y\n"));
  EXPECT_EQ(scaled->meaning, Meaning::kIndependent);
}

TEST(DecideOutput, SaysWhatDecisionsHaveToKnow) {
  EXPECT_TRUE(decide(head("output %logits\n"))->nature(1.5).add_up_to_one);
  EXPECT_EQ(decide(head("output %logits\n"))->nature(1.5).temperature, 1.5);
  EXPECT_FALSE(decide(head("%y = Sigmoid(%logits)\noutput %y\n"))->nature(1).add_up_to_one);
  // Of a single logit the logistic function is taken: nothing adds up there.
  EXPECT_FALSE(decide(head("%y = Gemm(%features, u:f32[8,1]#3)\noutput %y\n"))->nature(1).add_up_to_one);
}

}  // namespace
}  // namespace kinglet::engine
