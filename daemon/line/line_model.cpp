// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/line_model.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "camera/preprocess/geometry.h"
#include "daemon/line/trial_pictures.h"
#include "engine/base/check.h"
#include "engine/session/model.h"

namespace kinglet::daemon {
namespace {

constexpr std::string_view kWeightsFolder = "packed";  // of the state folder; daemon/backup/parts.cpp leaves it out

ModelFacts facts_of(const engine::PictureModel& model, const LineModelOptions& options) {
  const engine::Session& session = model.session();
  ModelFacts facts{.name = options.name.empty() ? options.model.stem().string() : options.name,
                   .file = options.model.filename().string(),
                   .path = options.model,
                   .digest = options.digest,
                   .demonstration = options.demonstration,
                   .metadata = session.metadata(),
                   .inputs = session.inputs(),
                   .outputs = session.outputs(),
                   .labels = model.labels(),
                   .labels_from_file = !model.labels_origin().empty(),
                   .taxa = {},
                   .tables = {},
                   .recipe = model.recipe(),
                   .picture_input = model.input(),
                   .recipe_found = !model.recipe_origin().empty(),
                   .output = model.output(),
                   .wished_precision = options.precision,
                   .precision = model.precision(),
                   .plan = session.plan(),
                   .threads = options.threads};
  facts.input_bytes = std::exchange(facts.picture_input.bytes, {}).size();
  std::error_code ignored;
  facts.size_bytes = std::filesystem::file_size(options.model, ignored);
  return facts;
}

}  // namespace

LineModel::LineModel(engine::PictureModel model)
    : model_(std::move(model)),
      preprocessor_(model_.recipe(), model_.input().width, model_.input().height),
      next_input_(model_.input().bytes.size()) {}

Result<LineModel> LineModel::open(const LineModelOptions& options) {
  const SteadyTime start = SteadyClock::now();
  engine::SessionOptions how{.threads = options.threads, .pool = options.pool, .integer_inputs = true};
  std::string digest = options.digest;
  if (!options.state_folder.empty()) {
    const std::filesystem::path folder = options.state_folder / kWeightsFolder;
    how.weights = digest.empty() ? KINGLET_TRY(engine::WeightsFolder::of(folder, options.model))
                                 : engine::WeightsFolder{.folder = folder, .digest = digest, .stamp = options.stamp};
    digest = how.weights->digest;
    // The store makes it as well, but later: packed weights of a first start are kept, too.
    std::error_code is_told_by_the_store;
    std::filesystem::create_directory(options.state_folder, is_told_by_the_store);
  }
  const bool looks_for_pictures = !options.state_folder.empty() && !engine::settled_precision(options.precision);
  LineModel model(KINGLET_TRY(engine::PictureModel::open(
      {.model = options.model,
       .labels = options.labels,
       .recipe = options.recipe,
       .output = options.output,
       .precision = options.precision,
       .pictures = looks_for_pictures ? stored_trial_pictures(options.state_folder) : engine::TrialPictures{}},
      how)));
  ModelFacts facts = facts_of(model.model_, options);
  if (digest.empty()) digest = KINGLET_TRY(engine::file_digest(options.model));
  facts.digest = std::move(digest);
  KINGLET_TRY(read_taxa(options.tables, facts));
  const SteadyTime loaded_at = SteadyClock::now();
  facts.load_time = loaded_at - start;
  if (const auto warm = model.run(); !warm) return std::unexpected(warm.error());
  facts.warmup_time = SteadyClock::now() - loaded_at;
  model.facts_ = std::make_shared<const ModelFacts>(std::move(facts));
  return model;
}

CropRect LineModel::crop_within(const CropRect& part) const {
  const engine::PictureInput& input = model_.input();
  const auto geometry =
      camera::make_geometry(preprocessor_.recipe(), part.width, part.height, std::nullopt, input.width, input.height);
  if (!geometry) return part;
  const CropRect& used = geometry->used;
  return {part.x + used.x, part.y + used.y, used.width, used.height};
}

Result<CropRect> LineModel::prepare(const camera::FrameView& frame, const std::optional<CropRect>& crop) {
  return preprocessor_.run(frame, crop, model_.input());
}

Result<CropRect> LineModel::prepare(const camera::FrameView& frame, const std::optional<CropRect>& crop,
                                    camera::MjpegPlanes& decoder) {
  return preprocessor_.run(frame, crop, model_.input(), decoder);
}

Result<CropRect> LineModel::prepare_next(const camera::FrameView& frame, const std::optional<CropRect>& crop,
                                         camera::MjpegPlanes& decoder) {
  engine::PictureInput aside = model_.input();
  aside.bytes = next_input_;
  return preprocessor_.run(frame, crop, aside, decoder);
}

Result<CropRect> LineModel::prepare_reduced(const camera::FrameView& still, camera::ImageSize size,
                                            const std::optional<CropRect>& crop, Place place) {
  engine::PictureInput input = model_.input();
  if (place == Place::kAside) input.bytes = next_input_;
  return preprocessor_.run_reduced(still, size, crop, input);
}

Result<CropRect> LineModel::prepare_part(const camera::FrameView& frame, const CropRect& part,
                                         std::span<const int> sizes, Place place, camera::MjpegPlanes& decoder) {
  engine::PictureInput input = model_.input();
  if (place == Place::kAside) input.bytes = next_input_;
  return preprocessor_.run_part(frame, part, sizes, input, decoder);
}

void LineModel::take(std::span<const std::byte> input) {
  const std::span<std::byte> place = model_.input().bytes;
  KINGLET_CHECK(input.size() == place.size());
  std::ranges::copy(input, place.begin());
}

void LineModel::give(std::size_t index, std::span<std::byte> output) const {
  const std::span<const std::byte> bytes = model_.session().output(index);
  KINGLET_CHECK(output.size() == bytes.size());
  std::ranges::copy(bytes, output.begin());
}

Result<std::span<const float>> LineModel::run() {
  KINGLET_TRY(model_.run());
  return model_.scores();
}

}  // namespace kinglet::daemon
