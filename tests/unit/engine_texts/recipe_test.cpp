// SPDX-License-Identifier: Apache-2.0
#include "engine/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/base/file.h"

namespace kinglet::engine {
namespace {

Error error_of(std::string_view json) {
  const Result<Recipe> recipe = parse_recipe(json, "m.recipe.json");
  return recipe ? Error{} : recipe.error();
}

TEST(ParseRecipe, TakesEveryMember) {
  const Result<Recipe> recipe = parse_recipe(
      R"({"resize_mode": "center_crop", "interpolation": "bicubic", "antialias": false, "crop_ratio": 0.95,
          "color_order": "bgr", "mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375],
          "output": "logits"})",
      "m.recipe.json");
  ASSERT_TRUE(recipe) << describe(recipe.error());
  EXPECT_EQ(*recipe, (Recipe{.resize_mode = ResizeMode::kCenterCrop,
                             .interpolation = Interpolation::kBicubic,
                             .antialias = false,
                             .crop_ratio = 0.95,
                             .color_order = ColorOrder::kBgr,
                             .mean = {123.675, 116.28, 103.53},
                             .std = {58.395, 57.12, 57.375},
                             .output = "logits"}));
}

TEST(ParseRecipe, LeavesDefaultsWhereNothingIsSaid) { EXPECT_EQ(parse_recipe("{}", "m").value(), Recipe{}); }

TEST(ParseRecipe, TakesOneNumberForAllChannels) {
  EXPECT_EQ(parse_recipe(R"({"mean": 128})", "m").value().mean, (std::array<double, 3>{128, 128, 128}));
}

TEST(ParseRecipe, ReadsBackWhatToJsonWrites) {
  Recipe recipe;
  recipe.interpolation = Interpolation::kNearest;
  recipe.mean = {0.1, 1.0 / 3, 255};
  recipe.output = "probabilities";
  EXPECT_EQ(parse_recipe(to_json(recipe), "m").value(), recipe);
}

TEST(ParseRecipe, NamesTheNearestMemberWhenOneIsMisspelt) {
  const Error error = error_of(R"({"interpolaton": "bilinear"})");
  EXPECT_EQ(describe(error), "m.recipe.json: unknown recipe member \"interpolaton\"");
  EXPECT_EQ(error.hint, "did you mean \"interpolation\"?");
}

TEST(ParseRecipe, ListsTheMembersWhenNothingIsNear) {
  EXPECT_TRUE(error_of(R"({"quux": 1})").hint.starts_with("members are \"resize_mode\","));
}

TEST(ParseRecipe, NamesLineAndColumnOfASyntaxError) {
  const Error error = error_of("{\n  \"mean\": [1, 2,, 3]\n}");
  EXPECT_EQ(describe(error), "m.recipe.json:2:17: recipe is not valid JSON");
  EXPECT_EQ(error.code, ErrorCode::kBadData);
}

TEST(ParseRecipe, NamesTheChoicesOfAWrongWord) {
  EXPECT_EQ(error_of(R"({"resize_mode": "squash"})").message,
            "recipe member \"resize_mode\" is \"squash\", expected one of \"stretch\", \"center_crop\"");
}

TEST(ParseRecipe, RefusesAMemberGivenTwice) {
  EXPECT_EQ(error_of(R"({"mean": 1, "mean": 2})").message, "recipe member \"mean\" is given twice");
}

TEST(ParseRecipe, RefusesNumbersThatCannotBe) {
  EXPECT_NE(error_of(R"({"std": [1, 0, 1]})").message, "");
  EXPECT_NE(error_of(R"({"std": [1, -1, 1]})").message, "");
  EXPECT_NE(error_of(R"({"mean": [1, 2]})").message, "");
  EXPECT_NE(error_of(R"({"mean": [1, 2, 1e300]})").message, "");
  EXPECT_NE(error_of(R"({"crop_ratio": 0})").message, "");
  EXPECT_NE(error_of(R"({"crop_ratio": 1.5})").message, "");
  EXPECT_NE(error_of(R"({"crop_ratio": 1e999})").message, "");
  EXPECT_NE(error_of(R"({"antialias": 1})").message, "");
}

TEST(ParseRecipe, RefusesWhatIsNotAnObject) {
  EXPECT_EQ(error_of("[1]").message, "recipe is not a JSON object");
  EXPECT_NE(error_of("").message, "");
  EXPECT_NE(error_of(std::string(100'000, '[')).message, "");
  EXPECT_EQ(error_of(R"({"mean": [[[[[[[[[[1]]]]]]]]]]})").message, "recipe is nested too deeply");
}

class FindRecipe : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(std::string_view name, std::string_view text) {
    ASSERT_TRUE(write_file(folder_ / name, text, Overwrite::kReplace));
  }
  std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("find_recipe_" + std::to_string(::getpid()));
};

TEST_F(FindRecipe, PrefersTheFileBesideTheModelToItsMetadata) {
  write("m.recipe.json", R"({"mean": 1})");
  EXPECT_EQ(find_recipe(folder_ / "m.onnx", std::nullopt, R"({"mean": 2})").value().value().mean[0], 1);
}

TEST_F(FindRecipe, PrefersTheExplicitFileToAllOthers) {
  write("m.recipe.json", R"({"mean": 1})");
  write("other.json", R"({"mean": 3})");
  EXPECT_EQ(find_recipe(folder_ / "m.onnx", folder_ / "other.json", std::nullopt).value().value().mean[0], 3);
}

TEST_F(FindRecipe, FallsBackToTheMetadataAndNamesItInErrors) {
  EXPECT_EQ(find_recipe(folder_ / "m.onnx", std::nullopt, R"({"mean": 2})").value().value().mean[0], 2);
  EXPECT_THAT(describe(find_recipe("m.onnx", std::nullopt, "{").error()),
              ::testing::StartsWith("m.onnx, metadata property kinglet.recipe:1:"));
}

TEST_F(FindRecipe, IsAnErrorWhenTheExplicitFileIsMissing) {
  EXPECT_EQ(find_recipe(folder_ / "m.onnx", folder_ / "no.json", std::nullopt).error().code, ErrorCode::kNotFound);
}

TEST_F(FindRecipe, IsNothingWithoutAny) {
  EXPECT_EQ(find_recipe(folder_ / "m.onnx", std::nullopt, std::nullopt).value(), std::nullopt);
}

}  // namespace
}  // namespace kinglet::engine
