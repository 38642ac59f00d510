// SPDX-License-Identifier: Apache-2.0
// Why: a model that looks at pictures, with what makes its numbers mean something: recipe, the place for the pixels,
// labels, scores. The daemon and the tool open models here and nowhere else: the one runs what the other shows.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/picture/score_reader.h"
#include "engine/recipe/labels.h"
#include "engine/recipe/picture_input.h"
#include "engine/recipe/recipe.h"
#include "engine/session/session.h"

namespace kinglet::engine {

// A model file, and what a person said of it. Empty: what lies beside it or in it, or what its graph says.
struct PictureModelOptions {
  std::filesystem::path model;
  std::filesystem::path labels;
  std::filesystem::path recipe;  // a file, or the name of a preset
  std::string output;            // the one that has the scores
};

struct FoundRecipe {
  Recipe recipe;
  std::string origin;  // "model.recipe.json", "in the model"; empty: the default, a guess
};

// What belongs to a model, also to one that does not run. Errors as of find_recipe, find_labels and decide_output.
[[nodiscard]] Result<FoundRecipe> recipe_of(const PictureModelOptions& options, const Graph::Metadata& metadata);
[[nodiscard]] Result<std::optional<FoundLabels>> labels_of(const PictureModelOptions& options,
                                                           const Graph::Metadata& metadata);
[[nodiscard]] Result<OutputMeaning> output_of(const PictureModelOptions& options, std::span<const OutputForm> forms,
                                              const Recipe& recipe, const std::optional<FoundLabels>& labels);

// Thread-bound, as its session.
class PictureModel {
 public:
  // Errors as of Session::open and those above; kBadData for a model whose input is no picture, and for a label count
  // that does not fit.
  [[nodiscard]] static Result<PictureModel> open(const PictureModelOptions& options, const SessionOptions& how);

  [[nodiscard]] Session& session() { return session_; }
  [[nodiscard]] const Session& session() const { return session_; }
  // In the session.
  [[nodiscard]] const PictureInput& input() const { return input_; }
  // As it fits the input's type.
  [[nodiscard]] const Recipe& recipe() const { return recipe_.recipe; }
  [[nodiscard]] const std::string& recipe_origin() const { return recipe_.origin; }
  // One a class.
  [[nodiscard]] const Labels& labels() const { return labels_.labels; }
  [[nodiscard]] const std::string& labels_origin() const { return labels_.origin; }  // empty: they are numbers
  [[nodiscard]] const OutputMeaning& output() const { return reader_.meaning(); }
  [[nodiscard]] ScoreNature score_nature() const { return output().nature(recipe().temperature); }

  // Answers what is in input(), and reads the scores. kInternal when the backend fails. Allocates nothing.
  [[nodiscard]] Result<void> run();
  // Of the newest run, 0 to 1, one a label; valid until the next. Some are not finite where the model's output is not.
  [[nodiscard]] std::span<const float> scores() const { return scores_; }
  // The same; kBadData with what is wrong when they are not all finite.
  [[nodiscard]] Result<std::span<const float>> finite_scores() const;

 private:
  PictureModel(Session session, PictureInput input, FoundRecipe recipe, FoundLabels labels, OutputMeaning output);

  Session session_;
  PictureInput input_;
  FoundRecipe recipe_;
  FoundLabels labels_;
  ScoreReader reader_;
  std::vector<float> scores_;
  Result<void> read_;
};

}  // namespace kinglet::engine
