// SPDX-License-Identifier: Apache-2.0
#include "engine/picture/picture_model.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/base/format.h"

namespace kinglet::engine {
namespace {

namespace fs = std::filesystem;

constexpr Dim kLargestSide = 4096;

std::optional<std::string_view> find_property(const Graph::Metadata& metadata, std::string_view name) {
  for (const auto& [key, value] : metadata.properties) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::optional<fs::path> given(const fs::path& path) { return path.empty() ? std::nullopt : std::optional(path); }

// A picture goes into [1,3,height,width] (held either way) or, for models that were trained so, [1,height,width,3].
std::optional<PictureInput> place_in(const TensorInfo& info) {
  const Shape& shape = info.shape;
  const bool is_number = info.type == DataType::kF32 || info.type == DataType::kU8 || info.type == DataType::kI8;
  const auto is_side = [](Dim dim) { return dim >= 1 && dim <= kLargestSide; };
  if (!is_number || shape.size() != 4 || shape[0] != 1 || !std::ranges::all_of(shape, is_side)) return std::nullopt;
  const bool channels_first = shape[1] == 3;
  if (!channels_first && shape[3] != 3) return std::nullopt;
  const std::size_t rows = channels_first ? 2 : 1;
  return PictureInput{.bytes = {},
                      .type = info.held ? info.held->type : info.type,
                      .width = static_cast<int>(shape[rows + 1]),
                      .height = static_cast<int>(shape[rows]),
                      .layout = channels_first ? info.layout : TensorLayout::kNhwc,
                      .quantization = info.held ? info.held->quantization : Quantization{}};
}

// What was found, or numbers.
Result<FoundLabels> settled_labels(std::optional<FoundLabels> found, const OutputMeaning& output) {
  if (!found) return FoundLabels{.labels = Labels::numbered(output.classes), .origin = {}};
  KINGLET_TRY(found->labels.check_count(output.classes));
  return std::move(*found);
}

}  // namespace

Result<PictureInput> picture_input(Session& session, const fs::path& model) {
  const std::vector<TensorInfo>& inputs = session.inputs();
  const std::string hint =
      "kinglet needs a model of one picture; `kinglet inspect` shows the model, `kinglet run` takes tensors of any "
      "shape";
  if (inputs.size() != 1 || session.outputs().empty()) {
    return fail(ErrorCode::kBadData,
                format_text("the model has {} inputs and {} outputs, expected one input and at least one output",
                            inputs.size(), session.outputs().size()),
                model.string(), hint);
  }
  const TensorInfo& info = inputs.front();
  std::optional<PictureInput> input = place_in(info);
  if (!input) {
    return fail(ErrorCode::kBadData,
                format_text("input \"{}\" is {} {}, expected one picture: f32, u8 or i8 [1,3,height,width]", info.name,
                            to_string(info.type), to_string(std::span<const Dim>(info.shape))),
                model.string(), hint);
  }
  input->bytes = session.input(0);
  return *input;
}

Result<FoundRecipe> recipe_of(const PictureModelOptions& options, const Graph::Metadata& metadata) {
  const std::optional<Recipe> recipe =
      KINGLET_TRY(find_recipe(options.model, given(options.recipe), find_property(metadata, kRecipeProperty)));
  if (!recipe) return FoundRecipe{};
  const fs::path beside = fs::path(options.model).replace_extension(".recipe.json");
  std::error_code error;
  std::string origin = !options.recipe.empty()     ? options.recipe.string()
                       : fs::exists(beside, error) ? beside.string()
                                                   : "in the model";
  return FoundRecipe{*recipe, std::move(origin)};
}

Result<std::optional<FoundLabels>> labels_of(const PictureModelOptions& options, const Graph::Metadata& metadata) {
  auto found = find_labels(options.model, given(options.labels), find_property(metadata, kLabelsProperty));
  if (!found) {
    found.error().hint = "labels are a UTF-8 text with one label a line, one for each class of the model";
  }
  return found;
}

Result<OutputMeaning> output_of(const PictureModelOptions& options, std::span<const OutputForm> forms,
                                const Recipe& recipe, const std::optional<FoundLabels>& labels) {
  OutputWish wish{.name = options.output, .stated = recipe.output};
  if (labels) wish.labels = labels->labels.size();
  auto found = decide_output(forms, wish);
  if (!found) return std::unexpected(with_context(found.error(), options.model.string()));
  return found;
}

PictureModel::PictureModel(Session session, PictureInput input, FoundRecipe recipe, FoundLabels labels,
                           OutputMeaning output)
    : PictureSession(std::move(session), input, std::move(recipe), std::move(labels)),
      reader_(session_, std::move(output)),
      scores_(this->labels().size()) {}

Result<PictureModel> PictureModel::open_as(const PictureModelOptions& options, SessionOptions how, bool half) {
  how.half = half;
  Session session = KINGLET_TRY(Session::open(options.model, how));
  PictureInput input = KINGLET_TRY(picture_input(session, options.model));
  FoundRecipe recipe = KINGLET_TRY(recipe_of(options, session.metadata()));
  const TensorInfo& of_file = session.inputs().front();
  auto fitting = recipe_for_input(recipe.origin.empty() ? std::nullopt : std::optional(recipe.recipe), of_file.type,
                                  of_file.quantization);
  if (!fitting) return std::unexpected(with_context(fitting.error(), options.model.string()));
  recipe.recipe = std::move(*fitting);
  if (recipe.recipe.boxes) {
    return fail(ErrorCode::kBadData, "the recipe is a detector's: it has \"boxes\"", options.model.string(),
                "kinglet detect shows what it finds; a model that names birds has scores");
  }
  if (!of_file.held) input.quantization = recipe.recipe.quantization.value_or(Quantization{});
  std::optional<FoundLabels> found = KINGLET_TRY(labels_of(options, session.metadata()));
  OutputMeaning output = KINGLET_TRY(output_of(options, session.output_forms(), recipe.recipe, found));
  FoundLabels labels = KINGLET_TRY(settled_labels(std::move(found), output));
  return PictureModel(std::move(session), input, std::move(recipe), std::move(labels), std::move(output));
}

Result<void> PictureModel::run() {
  KINGLET_TRY(session_.run());
  read_ = reader_.read(session_, recipe().temperature, scores_);
  return {};
}

Result<std::span<const float>> PictureModel::finite_scores() const {
  KINGLET_TRY(read_);
  return std::span<const float>(scores_);
}

Result<void> PictureModel::read_numbers(std::span<float> numbers) { return reader_.read_numbers(session_, numbers); }

}  // namespace kinglet::engine
