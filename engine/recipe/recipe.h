// SPDX-License-Identifier: Apache-2.0
// Why: how a picture becomes the model's input: the preprocessing the model was trained with. A JSON file beside the
// model (MODEL.recipe.json), or a preset, or the metadata property "kinglet.recipe" in the model, or the default.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/graph/data_type.h"
#include "engine/recipe/box_recipe.h"

namespace kinglet::engine {

// The whole picture | resize the short side, cut the middle | the whole in its proportions, top left, the rest padded.
enum class ResizeMode { kStretch, kCenterCrop, kLetterbox };
enum class Interpolation { kNearest, kBilinear, kBicubic };
enum class ColorOrder { kRgb, kBgr };
enum class Regions { kMotion, kWhole };
enum class TensorLayout { kNchw, kNhwc };

// What the bytes of an integer tensor mean: real = scale * (byte - zero_point).
struct Quantization {
  double scale = 1;  // > 0
  int zero_point = 0;

  bool operator==(const Quantization&) const = default;
};

// x = (pixel - mean) / std, pixel 0..255, per channel in the order of `color_order`. An integer input takes
// round(x / scale) + zero_point, halves to even, held to what the type can say.
struct Recipe {
  ResizeMode resize_mode = ResizeMode::kStretch;
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;               // as Pillow: the filter grows with the reduction
  double crop_ratio = 0.875;           // kCenterCrop: crop size / resized short side, in (0, 1]
  int resize_size = 0;                 // kCenterCrop: the resized short side in pixels; 0: floor(size / crop_ratio)
  int pad = 114;                       // kLetterbox: the pixels beside the picture, 0 to 255
  Regions regions = Regions::kMotion;  // of video; kMotion: squares around what moves, while something does
  ColorOrder color_order = ColorOrder::kRgb;
  std::array<double, 3> mean{0, 0, 0};
  std::array<double, 3> std{255, 255, 255};  // each > 0
  std::optional<Quantization> quantization;  // of an integer input; absent: what the model itself says
  std::string output = "auto";  // what its numbers are (engine/recipe/scores.h, Meaning); "auto": the graph says
  double temperature = 1;       // logits are divided by it, 0.01 to 100: above 1 a model that is too sure of itself
  std::optional<BoxRecipe> boxes = {};  // of a detector: how its boxes are read; a classifier has none

  bool operator==(const Recipe&) const = default;
};

// The metadata property of a model file that holds its recipe.
inline constexpr std::string_view kRecipeProperty = "kinglet.recipe";

// kBadData with line:column or member name; unknown members are errors with the nearest name.
[[nodiscard]] Result<Recipe> parse_recipe(std::string_view json, std::string_view where);
[[nodiscard]] std::string to_json(const Recipe& recipe);

// A named recipe: one row of recipe_presets.def.
struct Preset {
  std::string_view name;
  std::string_view whose;
  Recipe recipe;
};
[[nodiscard]] std::span<const Preset> recipe_presets();
// The preset that prepares pictures as `recipe` does, empty when there is none.
[[nodiscard]] std::string_view preset_like(const Recipe& recipe);

// A recipe file, or where there is none of that name, the preset its last part names. kNotFound names the nearest one.
[[nodiscard]] Result<Recipe> open_recipe(const std::filesystem::path& path_or_preset);

// The recipe for an input of this type. Nothing found: the default, and bytes as they are for an integer input. For an
// integer input `quantization` is there afterwards, the recipe's own or `of_model`; kBadData: neither says it, or the
// zero point does not fit the type.
[[nodiscard]] Result<Recipe> recipe_for_input(const std::optional<Recipe>& found, DataType type,
                                              const std::optional<Quantization>& of_model);

// The recipe that belongs to a model file: `explicit_path` (or a preset) if given, else MODEL.recipe.json beside it
// (MODEL is the file's name without .onnx), else `metadata_property`, else nothing.
[[nodiscard]] Result<std::optional<Recipe>> find_recipe(const std::filesystem::path& model,
                                                        const std::optional<std::filesystem::path>& explicit_path,
                                                        std::optional<std::string_view> metadata_property);

}  // namespace kinglet::engine
