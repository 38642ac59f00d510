// SPDX-License-Identifier: Apache-2.0
// Why: recipes as JSON. Every member is one row of the table below: its reader, its writer and its place in errors;
// every preset is one row of recipe_presets.def.
#include "engine/recipe/recipe.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/base/file.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/recipe/recipe_json.h"
#include "engine/recipe/recipe_members.h"

namespace kinglet::engine {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using namespace recipe_members;

constexpr std::size_t kMaxRecipeBytes = std::size_t{64} * 1024;
constexpr int kMaxDepth = 8;

constexpr std::array<std::string_view, 3> kResizeNames{"stretch", "center_crop", "letterbox"};
constexpr std::array<std::string_view, 3> kInterpolationNames{"nearest", "bilinear", "bicubic"};
constexpr std::array<std::string_view, 2> kColorNames{"rgb", "bgr"};
constexpr std::array<std::string_view, 2> kRegionNames{"motion", "whole"};
constexpr std::array<std::string_view, 5> kOutputNames{"auto", "probabilities", "logits", "independent", "top_k"};

// One number for all three channels, or three numbers.
Result<std::array<double, 3>> read_three(const Member& member, const json& value, std::string_view expected) {
  std::array<double, 3> out{};
  if (value.is_number()) {
    out.fill(value.get<double>());
  } else if (value.is_array() && value.size() == 3 && value[0].is_number() && value[1].is_number() &&
             value[2].is_number()) {
    for (std::size_t i = 0; i < 3; ++i) out[i] = value[i].get<double>();
  } else {
    return wrong(member, value, expected);
  }
  for (const double number : out) {
    if (!std::isfinite(number) || std::abs(number) > 1e6) return wrong(member, value, expected);
  }
  return out;
}

Result<void> read_std(const Member& member, const json& value, Recipe& recipe) {
  constexpr std::string_view kExpected = "three numbers from 1e-6 to 1e6 (on the scale of pixels, 0 to 255)";
  recipe.std = KINGLET_TRY(read_three(member, value, kExpected));
  for (const double number : recipe.std) {
    if (number < 1e-6) return wrong(member, value, kExpected);
  }
  return {};
}

// From 0.01 on.
Result<void> read_positive(const Member& member, const json& value, double most, std::string_view expected,
                           double& out) {
  if (!value.is_number() || !(value.get<double>() >= 0.01) || value.get<double>() > most) {
    return wrong(member, value, expected);
  }
  out = value.get<double>();
  return {};
}

Result<void> read_crop_ratio(const Member& member, const json& value, Recipe& recipe) {
  return read_positive(member, value, 1, "a number from 0.01 to 1", recipe.crop_ratio);
}

// What `regions` was called before.
Result<void> read_crop_to_motion(const Member& member, const json& value, Recipe& recipe) {
  if (!value.is_boolean()) return wrong(member, value, "true or false");
  recipe.regions = value.get<bool>() ? Regions::kMotion : Regions::kWhole;
  return {};
}

Result<void> read_temperature(const Member& member, const json& value, Recipe& recipe) {
  return read_positive(member, value, 100, "a number from 0.01 to 100 (1 changes nothing)", recipe.temperature);
}

Result<void> read_resize_size(const Member& member, const json& value, Recipe& recipe) {
  return read_whole(member, value, 1, 65'535, "a whole number of pixels from 1 to 65535", recipe.resize_size);
}

Result<void> read_pad(const Member& member, const json& value, Recipe& recipe) {
  return read_whole(member, value, 0, 255, "a whole number from 0 to 255", recipe.pad);
}

// Either of the two members makes the pair.
Quantization& quantization_of(Recipe& recipe) {
  if (!recipe.quantization) recipe.quantization.emplace();
  return *recipe.quantization;
}

Result<void> read_scale(const Member& member, const json& value, Recipe& recipe) {
  if (!value.is_number() || !(value.get<double>() >= 1e-6) || value.get<double>() > 1e6) {
    return wrong(member, value, "a number from 1e-6 to 1e6 (what one step of an integer input is worth)");
  }
  quantization_of(recipe).scale = value.get<double>();
  return {};
}

Result<void> read_zero_point(const Member& member, const json& value, Recipe& recipe) {
  int point = 0;
  KINGLET_TRY(read_whole(member, value, -128, 255, "a whole number from -128 to 255", point));
  quantization_of(recipe).zero_point = point;
  return {};
}

Result<void> read_antialias(const Member& member, const json& value, Recipe& recipe) {
  if (!value.is_boolean()) return wrong(member, value, "true or false");
  recipe.antialias = value.get<bool>();
  return {};
}

template <typename T>
std::string name_of(std::span<const std::string_view> names, T value) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

template <auto kMember, const auto& kNames>
Result<void> read_named(const Member& member, const json& value, Recipe& recipe) {
  using Choice = std::remove_reference_t<decltype(recipe.*kMember)>;
  recipe.*kMember = static_cast<Choice>(KINGLET_TRY(read_choice(member, value, kNames)));
  return {};
}

template <auto kMember, const auto& kNames>
ordered_json write_named(const Recipe& recipe) {
  return name_of(kNames, recipe.*kMember);
}

struct MemberRow {
  std::string_view name;
  Result<void> (*read)(const Member&, const json&, Recipe&);
  ordered_json (*write)(const Recipe&);  // null: left out
};

constexpr std::string_view kPresetMember = "preset";

constexpr MemberRow kMembers[] = {
    {"resize_mode", read_named<&Recipe::resize_mode, kResizeNames>, write_named<&Recipe::resize_mode, kResizeNames>},
    {"interpolation", read_named<&Recipe::interpolation, kInterpolationNames>,
     write_named<&Recipe::interpolation, kInterpolationNames>},
    {"antialias", read_antialias, [](const Recipe& recipe) { return ordered_json(recipe.antialias); }},
    {"crop_ratio", read_crop_ratio, [](const Recipe& recipe) { return ordered_json(recipe.crop_ratio); }},
    {"resize_size", read_resize_size,
     [](const Recipe& recipe) { return recipe.resize_size > 0 ? ordered_json(recipe.resize_size) : ordered_json(); }},
    {"pad", read_pad,
     [](const Recipe& recipe) {
       const bool matters = recipe.resize_mode == ResizeMode::kLetterbox || recipe.pad != Recipe{}.pad;
       return matters ? ordered_json(recipe.pad) : ordered_json();
     }},
    {"crop_to_motion", read_crop_to_motion, [](const Recipe&) { return ordered_json(); }},
    {"regions", read_named<&Recipe::regions, kRegionNames>,
     [](const Recipe& recipe) {
       return recipe.regions == Regions::kMotion ? ordered_json() : ordered_json(name_of(kRegionNames, recipe.regions));
     }},
    {"color_order", read_named<&Recipe::color_order, kColorNames>, write_named<&Recipe::color_order, kColorNames>},
    {"mean",
     [](const Member& member, const json& value, Recipe& recipe) -> Result<void> {
       recipe.mean =
           KINGLET_TRY(read_three(member, value, "three numbers from -1e6 to 1e6 (on the scale of pixels, 0 to 255)"));
       return {};
     },
     [](const Recipe& recipe) { return ordered_json(recipe.mean); }},
    {"std", read_std, [](const Recipe& recipe) { return ordered_json(recipe.std); }},
    {"scale", read_scale,
     [](const Recipe& recipe) {
       return recipe.quantization ? ordered_json(recipe.quantization->scale) : ordered_json();
     }},
    {"zero_point", read_zero_point,
     [](const Recipe& recipe) {
       return recipe.quantization ? ordered_json(recipe.quantization->zero_point) : ordered_json();
     }},
    {"output",
     [](const Member& member, const json& value, Recipe& recipe) -> Result<void> {
       recipe.output = kOutputNames[KINGLET_TRY(read_choice(member, value, kOutputNames))];
       return {};
     },
     [](const Recipe& recipe) { return ordered_json(recipe.output); }},
    {"temperature", read_temperature, [](const Recipe& recipe) { return ordered_json(recipe.temperature); }},
    {"boxes",
     [](const Member& member, const json& value, Recipe& recipe) { return read_boxes(member, value, recipe.boxes); },
     [](const Recipe& recipe) { return recipe.boxes ? write_boxes(*recipe.boxes) : ordered_json(); }},
};

std::vector<std::string_view> member_names() {
  std::vector<std::string_view> names{kPresetMember};
  for (const MemberRow& row : kMembers) names.push_back(row.name);
  return names;
}

constexpr std::array<double, 3> all(double number) { return {number, number, number}; }

std::string nearest_preset(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Preset& preset : recipe_presets()) names.push_back(preset.name);
  const std::string_view nearest = nearest_name(name, names);
  return nearest.empty() ? "presets are " + listed(names) : format_text("did you mean \"{}\"?", nearest);
}

Result<void> read_members(const json& root, std::string_view where, Recipe& recipe) {
  for (const auto& [name, value] : root.items()) {
    if (name == kPresetMember) continue;
    const auto* row = std::ranges::find(kMembers, name, &MemberRow::name);
    if (row == std::end(kMembers)) return unknown_member(name, where, member_names());
    KINGLET_TRY(row->read({row->name, where}, value, recipe));
  }
  return {};
}

const Preset* find_preset(std::string_view name) {
  const auto row = std::ranges::find(recipe_presets(), name, &Preset::name);
  return row == recipe_presets().end() ? nullptr : &*row;
}

// What the members start from: the preset that is named, or the defaults.
Result<Recipe> base_of(const json& root, std::string_view where) {
  const auto member = root.find(kPresetMember);
  if (member == root.end()) return Recipe{};
  const Preset* preset = member->is_string() ? find_preset(member->get_ref<const std::string&>()) : nullptr;
  if (preset != nullptr) return preset->recipe;
  return fail(ErrorCode::kBadData, format_text("unknown recipe preset {}", printable(member->dump(), 60)),
              std::string(where), nearest_preset(member->is_string() ? member->get<std::string>() : std::string()));
}

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(text.size(), byte > 0 ? byte - 1 : 0));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return format_text("{}:{}", line, column);
}

// Refuses what nlohmann would take in silence: a member given twice and absurd nesting.
Result<json> parse_strictly(std::string_view text, std::string_view where) {
  std::set<std::string> seen;
  std::string twice;
  bool too_deep = false;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    too_deep = too_deep || depth > kMaxDepth;
    if (event == json::parse_event_t::key && depth == 1 && !seen.insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return !too_deep;
  };
  try {
    json root = json::parse(text, watch);
    if (too_deep) return fail(ErrorCode::kBadData, "recipe is nested too deeply", std::string(where));
    if (!twice.empty()) {
      return fail(ErrorCode::kBadData, format_text("recipe member \"{}\" is given twice", printable(twice, 60)),
                  std::string(where), "remove one of the two");
    }
    return root;
  } catch (const json::parse_error& error) {
    return fail(ErrorCode::kBadData, "recipe is not valid JSON",
                format_text("{}:{}", where, line_and_column(text, error.byte)));
  } catch (const json::exception& error) {
    return fail(ErrorCode::kBadData, "recipe is not valid JSON: " + printable(error.what()), std::string(where));
  }
}

}  // namespace

Result<Recipe> parse_recipe(std::string_view text, std::string_view where) {
  if (text.size() > kMaxRecipeBytes) {
    return fail(ErrorCode::kBadData, format_text("recipe has {} bytes, the limit is {}", text.size(), kMaxRecipeBytes),
                std::string(where));
  }
  const json root = KINGLET_TRY(parse_strictly(text, where));
  if (!root.is_object()) {
    return fail(ErrorCode::kBadData, "recipe is not a JSON object", std::string(where),
                "a recipe looks like {\"mean\": [127.5, 127.5, 127.5], \"std\": [127.5, 127.5, 127.5]}");
  }
  Recipe recipe = KINGLET_TRY(base_of(root, where));
  KINGLET_TRY(read_members(root, where, recipe));
  return recipe;
}

ordered_json recipe_json(const Recipe& recipe) {
  ordered_json root = ordered_json::object();
  for (const MemberRow& row : kMembers) {
    ordered_json value = row.write(recipe);
    if (!value.is_null()) root[std::string(row.name)] = std::move(value);
  }
  return root;
}

std::string to_json(const Recipe& recipe) { return recipe_json(recipe).dump(2) + "\n"; }

std::span<const Preset> recipe_presets() {
  static const Preset kPresets[] = {
#define KINGLET_PRESET(name, whose, ...) {name, whose, {__VA_ARGS__}},
#include "engine/recipe/recipe_presets.def"
#undef KINGLET_PRESET
  };
  return kPresets;
}

std::string_view preset_like(const Recipe& recipe) {
  Recipe pictures = recipe;  // how answers are read is no part of a preset
  pictures.output = Recipe{}.output;
  pictures.temperature = Recipe{}.temperature;
  const auto row = std::ranges::find(recipe_presets(), pictures, &Preset::recipe);
  return row == recipe_presets().end() ? std::string_view() : row->name;
}

Result<Recipe> open_recipe(const std::filesystem::path& path_or_preset) {
  std::error_code ignored;
  if (!std::filesystem::exists(path_or_preset, ignored)) {
    // A configuration file puts its own folder before the word.
    const std::string name = path_or_preset.filename().string();
    if (const Preset* preset = find_preset(name)) return preset->recipe;
    if (!path_or_preset.has_extension()) {
      return fail(ErrorCode::kNotFound, "neither a recipe file nor a preset", printable(path_or_preset.string()),
                  nearest_preset(name));
    }
  }
  const std::string text = KINGLET_TRY(read_file(path_or_preset, kMaxRecipeBytes));
  return parse_recipe(text, printable(path_or_preset.string()));
}

Result<Recipe> recipe_for_input(const std::optional<Recipe>& found, DataType type,
                                const std::optional<Quantization>& of_model) {
  Recipe recipe = found.value_or(Recipe{});
  if (type != DataType::kU8 && type != DataType::kI8) return recipe;
  if (!found) return find_preset(type == DataType::kU8 ? "tflite-uint8" : "tflite-int8")->recipe;
  if (!recipe.quantization) recipe.quantization = of_model;
  if (!recipe.quantization) {
    return fail(ErrorCode::kBadData,
                format_text("the model's input is {}, and neither recipe nor model says what one step of it is worth",
                            to_string(type)),
                "recipe", "give \"scale\" and \"zero_point\", or the preset tflite-uint8 or tflite-int8");
  }
  const int lowest = type == DataType::kI8 ? -128 : 0;
  const int zero_point = recipe.quantization->zero_point;
  if (zero_point < lowest || zero_point > lowest + 255) {
    return fail(ErrorCode::kBadData,
                format_text("zero_point {} does not fit the model's {} input, expected {} to {}", zero_point,
                            to_string(type), lowest, lowest + 255),
                "recipe");
  }
  return recipe;
}

Result<std::optional<Recipe>> find_recipe(const std::filesystem::path& model,
                                          const std::optional<std::filesystem::path>& explicit_path,
                                          std::optional<std::string_view> metadata_property) {
  if (explicit_path) return KINGLET_TRY(open_recipe(*explicit_path));
  std::filesystem::path path = model;
  if (path.extension() == ".onnx") path.replace_extension();
  path += ".recipe.json";
  std::error_code error;
  if (std::filesystem::exists(path, error)) return KINGLET_TRY(open_recipe(path));
  if (metadata_property) {
    return KINGLET_TRY(
        parse_recipe(*metadata_property, printable(model.string()) + ", metadata property kinglet.recipe"));
  }
  return std::nullopt;
}

}  // namespace kinglet::engine
