// SPDX-License-Identifier: Apache-2.0
#include "engine/recipe/recipe.h"

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
          "output": "logits", "resize_size": 256, "scale": 0.5, "zero_point": 7, "temperature": 1.5})",
      "m.recipe.json");
  ASSERT_TRUE(recipe) << describe(recipe.error());
  EXPECT_EQ(*recipe, (Recipe{.resize_mode = ResizeMode::kCenterCrop,
                             .interpolation = Interpolation::kBicubic,
                             .antialias = false,
                             .crop_ratio = 0.95,
                             .resize_size = 256,
                             .color_order = ColorOrder::kBgr,
                             .mean = {123.675, 116.28, 103.53},
                             .std = {58.395, 57.12, 57.375},
                             .quantization = Quantization{0.5, 7},
                             .output = "logits",
                             .temperature = 1.5}));
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
  EXPECT_TRUE(error_of(R"({"quux": 1})").hint.starts_with("members are \"preset\", \"resize_mode\","));
}

TEST(ParseRecipe, NamesLineAndColumnOfASyntaxError) {
  const Error error = error_of("{\n  \"mean\": [1, 2,, 3]\n}");
  EXPECT_EQ(describe(error), "m.recipe.json:2:17: recipe is not valid JSON");
  EXPECT_EQ(error.code, ErrorCode::kBadData);
}

TEST(ParseRecipe, NamesTheChoicesOfAWrongWord) {
  EXPECT_EQ(error_of(R"({"resize_mode": "squash"})").message,
            "recipe member \"resize_mode\" is \"squash\", expected one of \"stretch\", \"center_crop\", \"letterbox\"");
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
  EXPECT_NE(error_of(R"({"resize_size": 0})").message, "");
  EXPECT_NE(error_of(R"({"resize_size": 256.5})").message, "");
  EXPECT_NE(error_of(R"({"resize_size": 70000})").message, "");
  EXPECT_NE(error_of(R"({"scale": 0})").message, "");
  EXPECT_NE(error_of(R"({"zero_point": 256})").message, "");
  EXPECT_NE(error_of(R"({"zero_point": 1e300})").message, "");
}

TEST(ParseRecipe, RefusesWhatIsNotAnObject) {
  EXPECT_EQ(error_of("[1]").message, "recipe is not a JSON object");
  EXPECT_NE(error_of("").message, "");
  EXPECT_NE(error_of(std::string(100'000, '[')).message, "");
  EXPECT_EQ(error_of(R"({"mean": [[[[[[[[[[1]]]]]]]]]]})").message, "recipe is nested too deeply");
}

TEST(RecipePreset, GivesTheMembersThatAreNotThere) {
  const Recipe recipe = parse_recipe(R"({"interpolation": "bicubic", "preset": "torchvision", "std": 2})", "m").value();
  EXPECT_EQ(recipe.resize_mode, ResizeMode::kCenterCrop);
  EXPECT_EQ(recipe.mean, (std::array<double, 3>{123.675, 116.28, 103.53}));
  EXPECT_EQ(recipe.interpolation, Interpolation::kBicubic);
  EXPECT_EQ(recipe.std, (std::array<double, 3>{2, 2, 2}));
}

TEST(RecipePreset, NamesTheNearestWhenItIsUnknown) {
  const Error error = error_of(R"({"preset": "keras-mobilnet"})");
  EXPECT_EQ(describe(error), "m.recipe.json: unknown recipe preset \"keras-mobilnet\"");
  EXPECT_EQ(error.hint, "did you mean \"keras-mobilenet\"?");
  EXPECT_THAT(error_of(R"({"preset": "quux"})").hint, ::testing::StartsWith("presets are \"torchvision\", "));
  EXPECT_EQ(error_of(R"({"preset": 1})").message, "unknown recipe preset 1");
}

TEST(RecipePreset, IsFoundAgainByWhatItDoes) {
  for (const Preset& preset : recipe_presets()) {
    Recipe recipe = open_recipe(std::string(preset.name)).value();
    recipe.output = "logits";
    recipe.temperature = 2;
    const std::string_view like = preset_like(recipe);
    EXPECT_EQ(parse_recipe(to_json(recipe), "m").value(), recipe) << preset.name;
    EXPECT_EQ(open_recipe(std::string(like)).value(), open_recipe(std::string(preset.name)).value()) << preset.name;
  }
  EXPECT_EQ(preset_like(Recipe{.mean = {1, 2, 3}}), "");
}

TEST(RecipePreset, EachIsInTheDocument) {
  const std::string text = read_file(KINGLET_SOURCE_DIR "/docs/recipes.md", 1 << 20).value();
  for (const Preset& preset : recipe_presets()) {
    EXPECT_THAT(text, ::testing::HasSubstr("\n| `" + std::string(preset.name) + "` |"));
  }
}

TEST(RecipeForInput, LeavesAFloatInputAsItIs) {
  EXPECT_EQ(recipe_for_input(std::nullopt, DataType::kF32, Quantization{}).value(), Recipe{});
}

TEST(RecipeForInput, GivesBytesAsTheyAreToAnIntegerInputWithoutARecipe) {
  EXPECT_EQ(preset_like(recipe_for_input(std::nullopt, DataType::kU8, std::nullopt).value()), "tflite-uint8");
  EXPECT_EQ(preset_like(recipe_for_input(std::nullopt, DataType::kI8, Quantization{0.5, 3}).value()), "tflite-int8");
}

TEST(RecipeForInput, PrefersTheRecipesScaleToTheModels) {
  const Recipe silent = parse_recipe(R"({"preset": "torchvision"})", "m").value();
  const Recipe telling = parse_recipe(R"({"scale": 0.25, "zero_point": -3})", "m").value();
  const Quantization of_model{0.02, 5};
  EXPECT_EQ(recipe_for_input(silent, DataType::kI8, of_model).value().quantization, of_model);
  EXPECT_EQ(recipe_for_input(telling, DataType::kI8, of_model).value().quantization, (Quantization{0.25, -3}));
}

TEST(RecipeForInput, RefusesAnIntegerInputThatNobodyExplains) {
  const Error error = recipe_for_input(Recipe{}, DataType::kU8, std::nullopt).error();
  EXPECT_EQ(error.code, ErrorCode::kBadData);
  EXPECT_THAT(error.message, ::testing::HasSubstr("input is u8, and neither recipe nor model says"));
  EXPECT_THAT(error.hint, ::testing::HasSubstr("tflite-uint8"));
}

TEST(RecipeForInput, RefusesAZeroPointThatTheTypeCannotHold) {
  const Recipe recipe = parse_recipe(R"({"scale": 1, "zero_point": -1})", "m").value();
  EXPECT_TRUE(recipe_for_input(recipe, DataType::kI8, std::nullopt));
  EXPECT_THAT(recipe_for_input(recipe, DataType::kU8, std::nullopt).error().message,
              ::testing::HasSubstr("zero_point -1 does not fit the model's u8 input, expected 0 to 255"));
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

TEST_F(FindRecipe, TakesThePresetThatAnExplicitNameIs) {
  EXPECT_EQ(preset_like(find_recipe("m.onnx", "timm", std::nullopt).value().value()), "timm");
  EXPECT_EQ(preset_like(find_recipe("m.onnx", folder_ / "caffe", std::nullopt).value().value()), "caffe");
  write("timm", R"({"mean": 4})");
  EXPECT_EQ(find_recipe("m.onnx", folder_ / "timm", std::nullopt).value().value().mean[0], 4);
}

TEST_F(FindRecipe, NamesTheNearestPresetWhenAnExplicitNameIsNone) {
  const Error error = find_recipe("m.onnx", "torchvison", std::nullopt).error();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(describe(error), "torchvison: neither a recipe file nor a preset");
  EXPECT_EQ(error.hint, "did you mean \"torchvision\"?");
}

TEST_F(FindRecipe, IsNothingWithoutAny) {
  EXPECT_EQ(find_recipe(folder_ / "m.onnx", std::nullopt, std::nullopt).value(), std::nullopt);
}

}  // namespace
}  // namespace kinglet::engine
