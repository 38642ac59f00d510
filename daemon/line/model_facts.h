// SPDX-License-Identifier: Apache-2.0
// Why: what is known of the model that answers, as people and programs are told it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "camera/frame/frame.h"
#include "engine/base/area.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/picture/precision.h"
#include "engine/recipe/labels.h"
#include "engine/recipe/output_meaning.h"
#include "engine/recipe/picture_input.h"
#include "engine/recipe/recipe.h"
#include "engine/session/session.h"
#include "visits/taxa.h"

namespace kinglet::daemon {

// What does not change while the model is loaded; shared with readers.
struct ModelFacts {
  std::string name;
  std::string file;  // base name
  std::filesystem::path path;
  std::string digest;  // "sha256:..."
  std::uint64_t size_bytes = 0;
  bool demonstration = false;
  engine::Graph::Metadata metadata;
  std::vector<engine::TensorInfo> inputs;
  std::vector<engine::TensorInfo> outputs;
  engine::Labels labels;
  bool labels_from_file = false;
  std::shared_ptr<const visits::Taxa> taxa;
  visits::TableFiles tables;  // that made them
  engine::Recipe recipe;
  engine::PictureInput picture_input;  // how its input is held; without the memory
  std::size_t input_bytes = 0;         // of that
  bool recipe_found = false;           // false: the default recipe, which may be wrong for this model
  engine::OutputMeaning output;
  engine::Precision wished_precision = engine::Precision::kAuto;
  engine::ChosenPrecision precision;
  engine::PlanInfo plan;
  int threads = 1;
  Milliseconds load_time{};
  Milliseconds warmup_time{};

  // Of a picture of this size (camera::enough_pixels).
  [[nodiscard]] camera::ImageSize enough_pixels(camera::ImageSize picture, const std::optional<CropRect>& crop) const;
  [[nodiscard]] engine::ScoreNature score_nature() const { return output.nature(recipe.temperature); }
};

// What the classes are: the labels, then the model's own table, then names in the user's language. Errors as of the
// tables.
[[nodiscard]] Result<void> read_taxa(const visits::TableFiles& tables, ModelFacts& facts);

// The same model by the tables of species and names as their files are now; nullptr: they say what they said. Errors as
// of the tables.
[[nodiscard]] Result<std::shared_ptr<const ModelFacts>> read_names_again(const ModelFacts& facts);

}  // namespace kinglet::daemon
