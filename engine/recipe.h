// SPDX-License-Identifier: Apache-2.0
// Why: how a picture becomes the model's input: the preprocessing the model was trained with. A JSON file beside the
// model (MODEL.recipe.json), or the metadata property "kinglet.recipe" in the model, or the default.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::engine {

enum class ResizeMode { kStretch, kCenterCrop };  // whole picture | resize the short side, cut the middle
enum class Interpolation { kNearest, kBilinear, kBicubic };
enum class ColorOrder { kRgb, kBgr };
enum class TensorLayout { kNchw, kNhwc };

// x = (pixel - mean) / std, pixel 0..255, per channel in the order of `color_order`.
struct Recipe {
  ResizeMode resize_mode = ResizeMode::kStretch;
  Interpolation interpolation = Interpolation::kBilinear;
  bool antialias = true;      // as Pillow: the filter grows with the reduction
  double crop_ratio = 0.875;  // kCenterCrop: crop size / resized short side, in (0, 1]
  ColorOrder color_order = ColorOrder::kRgb;
  std::array<double, 3> mean{0, 0, 0};
  std::array<double, 3> std{255, 255, 255};  // each > 0
  std::string output = "auto";               // "probabilities", "logits" (soft-max is applied), or "auto"
  double temperature = 1;  // logits are divided by it, 0.01 to 100: above 1 a model that is too sure of itself

  bool operator==(const Recipe&) const = default;
};

// The metadata property of a model file that holds its recipe.
inline constexpr std::string_view kRecipeProperty = "kinglet.recipe";

// kBadData with line:column or member name; unknown members are errors with the nearest name.
[[nodiscard]] Result<Recipe> parse_recipe(std::string_view json, std::string_view where);
[[nodiscard]] std::string to_json(const Recipe& recipe);

// The recipe that belongs to a model file: `explicit_path` if given, else MODEL.recipe.json beside it (MODEL is the
// file's name without .onnx), else `metadata_property`, else nothing.
[[nodiscard]] Result<std::optional<Recipe>> find_recipe(const std::filesystem::path& model,
                                                        const std::optional<std::filesystem::path>& explicit_path,
                                                        std::optional<std::string_view> metadata_property);

}  // namespace kinglet::engine
