// SPDX-License-Identifier: Apache-2.0
#include "engine/base/words.h"

#include <gtest/gtest.h>

namespace kinglet {
namespace {

enum class Light { kRed, kGreen, kOff };
constexpr Word<Light> kLights[] = {{Light::kRed, "red"}, {Light::kGreen, "green"}};

TEST(WordOf, IsThatOfTheValuesRow) {
  EXPECT_EQ(word_of(kLights, Light::kRed), "red");
  EXPECT_EQ(word_of(kLights, Light::kGreen, "dark"), "green");
}

TEST(WordOf, IsTheOtherOneWhereTheValueHasNoRow) {
  EXPECT_EQ(word_of(kLights, Light::kOff, "dark"), "dark");
  EXPECT_EQ(word_of(kLights, Light::kOff), "");
}

}  // namespace
}  // namespace kinglet
