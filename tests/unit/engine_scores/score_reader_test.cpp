// SPDX-License-Identifier: Apache-2.0
#include "engine/picture/score_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsNan;

// Scores of a graph whose input is [1,N].
struct Read {
  Result<void> done;
  std::vector<float> scores;
};
Read read(std::string_view text, const std::vector<float>& input, double temperature = 1,
          std::string_view stated = "auto") {
  Session session = std::move(*Session::create(graph_of(text), {}));
  const OutputMeaning meaning = *decide_output(session.output_forms(), {.name = {}, .stated = stated});
  Tensor tensor(DataType::kF32, session.inputs()[0].shape);
  std::ranges::copy(input, tensor.mutable_data<float>().begin());
  EXPECT_TRUE(session.set_input(0, tensor));
  EXPECT_TRUE(session.run());
  Read out{.done = {}, .scores = std::vector<float>(meaning.classes)};
  out.done = ScoreReader(session, meaning).read(session, temperature, out.scores);
  return out;
}

auto near(float score) { return FloatNear(score, 1e-5F); }

constexpr std::string_view kTop2 = "%x = input f32[1,4]\n%y, %at:i64 = TopK(%x, k:i64[1]{2})\noutput %y\noutput %at\n";

TEST(ScoreReader, GivesSigmoidsAsTheyAre) {
  const std::string_view sigmoid = "%x = input f32[1,2]\n%y = Sigmoid(%x)\noutput %y\n";
  EXPECT_THAT(read(sigmoid, {std::log(9.0F), std::log(4.0F)}).scores, ElementsAre(near(0.9F), near(0.8F)));
  const std::string_view one = "%x = input f32[1,1]\n%y = Sigmoid(%x)\noutput %y\n";
  EXPECT_THAT(read(one, {std::log(3.0F / 7)}).scores, ElementsAre(near(0.3F)));
}

TEST(ScoreReader, TakesASingleLogitByTheLogisticFunction) {
  const std::string_view one = "%x = input f32[1,1]\n%y = Neg(%x)\noutput %y\n";
  EXPECT_THAT(read(one, {-std::log(3.0F / 7)}).scores, ElementsAre(near(0.3F)));
}

TEST(ScoreReader, PutsTheBestOfATopKAtTheirClasses) {
  const std::string_view best =
      "%x = input f32[1,4]\n%1 = Softmax(%x)\n%y, %at:i64 = TopK(%1, k:i64[1]{2})\noutput %y\noutput %at\n";
  EXPECT_THAT(read(best, {std::log(0.1F), std::log(0.2F), std::log(0.1F), std::log(0.6F)}).scores,
              ElementsAre(0, near(0.2F), 0, near(0.6F)));
}

TEST(ScoreReader, TheBestLogitsAreAtLeastWhatTheOthersLeave) {
  // Were both others as large as the smaller one: e^2 / (e^2 + e^1 + 2 e^1).
  const double sum = std::exp(2) + 3 * std::exp(1);
  EXPECT_THAT(read(kTop2, {-5, 1, -9, 2}).scores, ElementsAre(0, near(static_cast<float>(std::exp(1) / sum)), 0,
                                                              near(static_cast<float>(std::exp(2) / sum))));
}

TEST(ScoreReader, ATopKOfAllLogitsIsTheirSoftMax) {
  const std::string_view all = "%x = input f32[1,2]\n%y, %at:i64 = TopK(%x, k:i64[1]{2})\noutput %y\noutput %at\n";
  EXPECT_THAT(read(all, {std::log(0.25F), std::log(0.75F)}).scores, ElementsAre(near(0.25F), near(0.75F)));
}

TEST(ScoreReader, AnArgMaxNamesItsClass) {
  const std::string_view argmax = "%x = input f32[1,4]\n%at:i64 = ArgMax(%x) {axis=1}\noutput %at\n";
  EXPECT_THAT(read(argmax, {1, 2, 9, 3}).scores, ElementsAre(0, 0, 1, 0));
  const std::string_view as_float =
      "%x = input f32[1,4]\n%at:i64 = ArgMax(%x) {axis=1}\n%y = Cast(%at) {to=1}\noutput %y\n";
  EXPECT_THAT(read(as_float, {1, 2, 9, 3}).scores, ElementsAre(0, 0, 1, 0));
}

TEST(ScoreReader, AClassThatThereIsNotIsAnError) {
  const std::string_view moved = "%x = input f32[1,4]\n%1:i64 = ArgMax(%x) {axis=1}\n%y = Cast(%1) {to=1}\noutput %y\n";
  Session session = std::move(*Session::create(graph_of(moved), {}));
  OutputMeaning meaning = *decide_output(session.output_forms(), {});
  meaning.classes = 2;
  Tensor tensor(DataType::kF32, {1, 4});
  tensor.mutable_data<float>()[3] = 1;
  ASSERT_TRUE(session.set_input(0, tensor));
  ASSERT_TRUE(session.run());
  std::vector<float> scores(2);
  const auto done = ScoreReader(session, meaning).read(session, 1, scores);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "the model's answer names class 3 of 2");
  EXPECT_THAT(scores, ElementsAre(IsNan(), IsNan()));
}

TEST(ScoreReader, WhatIsNotANumberStaysSo) {
  const std::string_view plain = "%x = input f32[1,2]\n%y = Sqrt(%x)\noutput %y\n";
  const Read found = read(plain, {-1, 4});
  EXPECT_FALSE(found.done);
  EXPECT_THAT(found.scores[0], IsNan());
  EXPECT_FALSE(read(kTop2, {1, NAN, 0, 0}).done);
}

TEST(ScoreReader, ATemperatureDividesTheLogitsOfEachIndependentScore) {
  const std::string_view sigmoid = "%x = input f32[1,2]\n%y = Sigmoid(%x)\noutput %y\n";
  const auto logistic = [](double x) { return near(static_cast<float>(1 / (1 + std::exp(-x)))); };
  EXPECT_THAT(read(sigmoid, {2, -3}, 2).scores, ElementsAre(logistic(1), logistic(-1.5)));
}

TEST(ScoreReader, ATemperatureOfTheBestProbabilitiesKeepsThemBelowOne) {
  const std::string_view best =
      "%x = input f32[1,4]\n%1 = Softmax(%x)\n%y, %at:i64 = TopK(%1, k:i64[1]{2})\noutput %y\noutput %at\n";
  const std::vector<float> scores = read(best, {0, 0, 0, std::log(7.0F)}, 2).scores;
  // Logarithms of 0.1, 0.1, 0.1, 0.7, halved: the others are as large as the smaller one, so this is exact.
  const double sum = std::sqrt(0.7) + 3 * std::sqrt(0.1);
  EXPECT_THAT(scores[3], near(static_cast<float>(std::sqrt(0.7) / sum)));
}

TEST(ScoreReader, NumbersAreThoseOfTheModel) {
  Session session = std::move(*Session::create(graph_of("%x = input f32[1,2]\n%y = Neg(%x)\noutput %y\n"), {}));
  Tensor tensor(DataType::kF32, {1, 2});
  tensor.mutable_data<float>()[1] = 3;
  ASSERT_TRUE(session.set_input(0, tensor));
  ASSERT_TRUE(session.run());
  std::vector<float> numbers(2);
  ASSERT_TRUE(ScoreReader(session, *decide_output(session.output_forms(), {})).read_numbers(session, numbers));
  EXPECT_THAT(numbers, ElementsAre(0, -3));
}

}  // namespace
}  // namespace kinglet::engine
