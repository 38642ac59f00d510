// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/classifier.h"

#include <algorithm>
#include <utility>

#include "camera/preprocess/geometry.h"
#include "engine/base/check.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/session/model.h"

namespace kinglet::daemon {
namespace {

using engine::TensorInfo;
using engine::TensorLayout;

struct InputGeometry {
  int width = 0;
  int height = 0;
  TensorLayout layout = TensorLayout::kNchw;
};

// A picture goes into [1,3,H,W] (held either way) or, for models that were trained so, into [1,H,W,3].
Result<InputGeometry> picture_geometry(const TensorInfo& info) {
  constexpr engine::Dim kLargestSide = 4096;
  const auto geometry = [](engine::Dim width, engine::Dim height, TensorLayout layout) {
    return InputGeometry{static_cast<int>(width), static_cast<int>(height), layout};
  };
  const engine::Shape& shape = info.shape;
  if (shape.size() == 4 && shape[0] == 1 &&
      std::ranges::all_of(shape, [](engine::Dim dim) { return dim >= 1 && dim <= kLargestSide; })) {
    if (shape[1] == 3) return geometry(shape[3], shape[2], info.layout);
    if (shape[3] == 3) return geometry(shape[2], shape[1], TensorLayout::kNhwc);
  }
  return fail(ErrorCode::kBadData,
              format_text("input \"{}\" has the shape {}, expected [1,3,height,width] of a picture", info.name,
                          engine::to_string(std::span<const engine::Dim>(shape))),
              {}, "kinglet needs an image classifier; look at the model with `kinglet inspect`");
}

Result<void> check_type(const TensorInfo& input) {
  using engine::DataType;
  if (input.type == DataType::kF32 || input.type == DataType::kU8 || input.type == DataType::kI8) return {};
  return fail(ErrorCode::kBadData, format_text("input \"{}\" is of type {}, expected f32, u8 or i8", input.name,
                                               engine::to_string(input.type)));
}

std::optional<std::string_view> find_property(const engine::Graph::Metadata& metadata, std::string_view name) {
  for (const auto& [key, value] : metadata.properties) {
    if (key == name) return value;
  }
  return std::nullopt;
}

// Labels, and which output they are of.
Result<void> load_labels(const ClassifierOptions& options, std::span<const engine::OutputForm> forms,
                         ModelFacts& facts) {
  std::optional<std::filesystem::path> path;
  if (!options.labels.empty()) path = options.labels;
  auto found =
      KINGLET_TRY(engine::find_labels(options.model, path, find_property(facts.metadata, engine::kLabelsProperty)));
  engine::OutputWish wish{.name = options.output, .stated = facts.recipe.output};
  if (found) wish.labels = found->labels.size();
  auto output = engine::decide_output(forms, wish);
  if (!output) return std::unexpected(with_context(output.error(), options.model.string()));
  facts.output = std::move(*output);
  if (!found) {
    facts.labels = engine::Labels::numbered(facts.output.classes);
    return {};
  }
  facts.labels = std::move(found->labels);
  facts.labels_from_file = true;
  return facts.labels.check_count(facts.output.classes);
}

// What the classes are: labels, then the model's own table, then names in the user's language.
Result<void> load_taxa(const ClassifierOptions& options, ModelFacts& facts) {
  const std::vector<visits::SpeciesRow> rows =
      KINGLET_TRY(visits::read_species_tables(options.model, options.species, options.names));
  facts.taxa = std::make_shared<const visits::Taxa>(KINGLET_TRY(visits::Taxa::make(facts.labels, rows)));
  facts.species = options.species;
  facts.names = options.names;
  return {};
}

bool say_the_same(const visits::Taxa& one, const visits::Taxa& other) {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const visits::Taxon& a = one[i];
    const visits::Taxon& b = other[i];
    if (a.species_id != b.species_id || a.scientific_name != b.scientific_name || a.common_name != b.common_name ||
        a.role != b.role || a.parent != b.parent) {
      return false;
    }
  }
  return true;
}

Result<void> load_recipe(const ClassifierOptions& options, ModelFacts& facts) {
  std::optional<std::filesystem::path> path;
  if (!options.recipe.empty()) path = options.recipe;
  const std::optional<engine::Recipe> recipe =
      KINGLET_TRY(engine::find_recipe(options.model, path, find_property(facts.metadata, engine::kRecipeProperty)));
  const TensorInfo& input = facts.inputs[0];
  facts.recipe_found = recipe.has_value();
  facts.recipe = KINGLET_TRY(engine::recipe_for_input(recipe, input.type, input.quantization));
  return {};
}

}  // namespace

Result<std::shared_ptr<const ModelFacts>> read_names_again(const ModelFacts& facts) {
  ModelFacts renamed = facts;
  KINGLET_TRY(load_taxa({.model = facts.path, .species = facts.species, .names = facts.names}, renamed));
  if (say_the_same(*facts.taxa, *renamed.taxa)) return nullptr;
  return std::make_shared<const ModelFacts>(std::move(renamed));
}

Classifier::Classifier(engine::Session session, camera::Preprocessor preprocessor, camera::InputTensor input,
                       const engine::OutputMeaning& output)
    : session_(std::move(session)),
      preprocessor_(std::move(preprocessor)),
      input_(input),
      next_input_(input.bytes.size()),
      reader_(session_, output),
      scores_(output.classes) {}

Result<Classifier> Classifier::open(const ClassifierOptions& options) {
  const SteadyTime start = SteadyClock::now();
  engine::Session session = KINGLET_TRY(
      engine::Session::open(options.model, engine::SessionOptions{.threads = options.threads, .pool = options.pool}));
  auto facts = std::make_shared<ModelFacts>();
  facts->metadata = session.metadata();
  facts->inputs = session.inputs();
  facts->outputs = session.outputs();
  facts->plan = session.plan();
  facts->threads = options.threads;
  facts->demonstration = options.demonstration;
  facts->file = options.model.filename().string();
  facts->path = options.model;
  facts->name = options.name.empty() ? options.model.stem().string() : options.name;
  facts->digest = options.digest;
  if (facts->digest.empty()) facts->digest = KINGLET_TRY(engine::file_digest(options.model));
  std::error_code ignored;
  facts->size_bytes = std::filesystem::file_size(options.model, ignored);

  if (facts->inputs.size() != 1 || facts->outputs.empty()) {
    return fail(ErrorCode::kBadData,
                format_text("the model has {} inputs and {} outputs, expected one input and at least one output",
                            facts->inputs.size(), facts->outputs.size()),
                options.model.string());
  }
  const InputGeometry geometry = KINGLET_TRY(picture_geometry(facts->inputs[0]));
  KINGLET_TRY(check_type(facts->inputs[0]));
  KINGLET_TRY(load_recipe(options, *facts));
  KINGLET_TRY(load_labels(options, session.output_forms(), *facts));
  KINGLET_TRY(load_taxa(options, *facts));

  const camera::InputTensor input{.bytes = session.input(0),
                                  .type = facts->inputs[0].type,
                                  .width = geometry.width,
                                  .height = geometry.height,
                                  .layout = geometry.layout,
                                  .quantization = facts->recipe.quantization.value_or(engine::Quantization{})};
  camera::Preprocessor preprocessor(facts->recipe, geometry.width, geometry.height);
  Classifier classifier(std::move(session), std::move(preprocessor), input, facts->output);
  const SteadyTime loaded_at = SteadyClock::now();
  facts->load_time = loaded_at - start;
  if (const auto warm = classifier.run(); !warm) return std::unexpected(warm.error());
  facts->warmup_time = SteadyClock::now() - loaded_at;
  classifier.facts_ = std::move(facts);
  return classifier;
}

camera::CropRect Classifier::crop_within(const camera::CropRect& part) const {
  const auto geometry =
      camera::make_geometry(preprocessor_.recipe(), part.width, part.height, std::nullopt, input_.width, input_.height);
  if (!geometry) return part;
  const camera::CropRect& used = geometry->used;
  return {part.x + used.x, part.y + used.y, used.width, used.height};
}

Result<camera::CropRect> Classifier::prepare(const camera::FrameView& frame,
                                             const std::optional<camera::CropRect>& crop) {
  return preprocessor_.run(frame, crop, input_);
}

Result<camera::CropRect> Classifier::prepare(const camera::FrameView& frame,
                                             const std::optional<camera::CropRect>& crop,
                                             camera::MjpegPlanes& decoder) {
  return preprocessor_.run(frame, crop, input_, decoder);
}

Result<camera::CropRect> Classifier::prepare_next(const camera::FrameView& frame,
                                                  const std::optional<camera::CropRect>& crop,
                                                  camera::MjpegPlanes& decoder) {
  camera::InputTensor input = input_;
  input.bytes = next_input_;
  return preprocessor_.run(frame, crop, input, decoder);
}

void Classifier::take(std::span<const std::byte> input) {
  KINGLET_CHECK(input.size() == input_.bytes.size());
  std::ranges::copy(input, input_.bytes.begin());
}

void Classifier::give(std::size_t index, std::span<std::byte> output) const {
  const std::span<const std::byte> bytes = session_.output(index);
  KINGLET_CHECK(output.size() == bytes.size());
  std::ranges::copy(bytes, output.begin());
}

Result<std::span<const float>> Classifier::run() {
  KINGLET_TRY(session_.run());
  // What is not finite stays so, and is an answer: "non_finite".
  static_cast<void>(reader_.read(session_, preprocessor_.recipe().temperature, scores_));
  return std::span<const float>(scores_);
}

}  // namespace kinglet::daemon
