// SPDX-License-Identifier: Apache-2.0
// Why: a model that looks at pictures, with what makes its numbers mean something: recipe, the place for the pixels,
// labels, scores. The daemon and the tool open models here and nowhere else: the one runs what the other shows.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/picture/precision.h"
#include "engine/picture/score_reader.h"
#include "engine/recipe/labels.h"
#include "engine/recipe/picture_input.h"
#include "engine/recipe/recipe.h"
#include "engine/session/session.h"

namespace kinglet::engine {

// Pictures to try a precision with: `fill` prepares number `index` as the recipe says into the input.
struct TrialPictures {
  std::size_t count = 0;
  std::function<Result<void>(std::size_t index, const Recipe& recipe, const PictureInput& input)> fill;
};

// A model file, and what a person said of it. Empty: what lies beside it or in it, or what its graph says.
struct PictureModelOptions {
  std::filesystem::path model;
  std::filesystem::path labels;
  std::filesystem::path recipe;  // a file, or the name of a preset
  std::string output;            // the one that has the scores
  Precision precision = Precision::kAuto;
  TrialPictures pictures = {};  // none: made ones (made_pictures.h)
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

// Where pictures go in the session of this file. kBadData: its input is no picture.
[[nodiscard]] Result<PictureInput> picture_input(Session& session, const std::filesystem::path& model);

// What needs no model to be chosen: what is wished, or all that this processor has. Nothing: a model has to be opened.
[[nodiscard]] std::optional<ChosenPrecision> settled_precision(Precision wished);

// What all models of pictures have, whatever they say of one. Thread-bound, as its session.
class PictureSession {
 public:
  [[nodiscard]] const Session& session() const { return session_; }
  // In the session.
  [[nodiscard]] const PictureInput& input() const { return input_; }
  // As it fits the input's type.
  [[nodiscard]] const Recipe& recipe() const { return recipe_.recipe; }
  [[nodiscard]] const std::string& recipe_origin() const { return recipe_.origin; }
  // One a class.
  [[nodiscard]] const Labels& labels() const { return labels_.labels; }
  [[nodiscard]] const std::string& labels_origin() const { return labels_.origin; }  // empty: they are numbers

 protected:
  PictureSession(Session session, PictureInput input, FoundRecipe recipe, FoundLabels labels)
      : session_(std::move(session)), input_(input), recipe_(std::move(recipe)), labels_(std::move(labels)) {}

  Session session_;

 private:
  PictureInput input_;
  FoundRecipe recipe_;
  FoundLabels labels_;
};

// With scores.
class PictureModel : public PictureSession {
 public:
  // Errors as of Session::open and those above; kBadData for a model whose input is no picture, and for a label count
  // that does not fit. What it is computed with is chosen by options.precision, whatever `how` says; kAuto loads the
  // model twice where float16 may do, one after the other, and runs some pictures. Float16 that cannot be had is
  // float32 with a reason, and no error.
  [[nodiscard]] static Result<PictureModel> open(const PictureModelOptions& options, const SessionOptions& how);

  using PictureSession::session;
  [[nodiscard]] Session& session() { return session_; }
  [[nodiscard]] const OutputMeaning& output() const { return reader_.meaning(); }
  [[nodiscard]] const ChosenPrecision& precision() const { return precision_; }
  [[nodiscard]] ScoreNature score_nature() const { return output().nature(recipe().temperature); }

  // Answers what is in input(), and reads the scores. kInternal when the backend fails. Allocates nothing.
  [[nodiscard]] Result<void> run();
  // Of the newest run, 0 to 1, one a label; valid until the next. Some are not finite where the model's output is not.
  [[nodiscard]] std::span<const float> scores() const { return scores_; }
  // The same; kBadData with what is wrong when they are not all finite.
  [[nodiscard]] Result<std::span<const float>> finite_scores() const;
  // The newest run as the model gives it, one number a class.
  [[nodiscard]] Result<void> read_numbers(std::span<float> numbers);

 private:
  [[nodiscard]] static Result<PictureModel> open_as(const PictureModelOptions& options, SessionOptions how, bool half);
  [[nodiscard]] static Result<PictureModel> open_by_trial(const PictureModelOptions& options,
                                                          const SessionOptions& how);
  [[nodiscard]] PictureModel with(ChosenPrecision precision) &&;
  PictureModel(Session session, PictureInput input, FoundRecipe recipe, FoundLabels labels, OutputMeaning output);

  ScoreReader reader_;
  ChosenPrecision precision_;
  std::vector<float> scores_;
  Result<void> read_;
};

}  // namespace kinglet::engine
