// SPDX-License-Identifier: Apache-2.0
// Why: a model with everything that turns pictures into named scores: what classify, and checks on pictures, share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "camera/decode/decode.h"
#include "camera/preprocess/preprocess.h"
#include "cli/output.h"
#include "engine/recipe/labels.h"
#include "engine/recipe/recipe.h"
#include "engine/session/score_reader.h"
#include "engine/session/session.h"

namespace kinglet::cli {

// What the commands that run a model have in common.
struct ModelOptions {
  std::string model;
  std::string labels;
  std::string recipe;
  std::string scores;  // the output that has them; empty: engine::decide_output chooses
  int threads = 0;     // 0: cores minus one, 1 to 4
};
void add_model_argument(CLI::App& app, ModelOptions& options);
void add_threads_option(CLI::App& app, ModelOptions& options);
void add_labels_option(CLI::App& app, ModelOptions& options);
void add_picture_options(CLI::App& app, ModelOptions& options);  // --labels, --recipe, --scores
[[nodiscard]] int thread_count(const ModelOptions& options);

// The recipe that belongs to the model and where it was found ("model.recipe.json", "in the model", "").
struct FoundRecipe {
  engine::Recipe recipe;
  std::string origin;  // empty: the default, a guess
};
[[nodiscard]] Result<FoundRecipe> recipe_of(const ModelOptions& options, const engine::Graph::Metadata& metadata);

// The labels that belong to the model: --labels, a file beside it, or in it.
[[nodiscard]] Result<std::optional<engine::FoundLabels>> labels_of(const ModelOptions& options,
                                                                   const engine::Graph::Metadata& metadata);

// What the model's output means beside these labels and this recipe. kBadData: it is no classifier, or several outputs
// could be the scores.
[[nodiscard]] Result<engine::OutputMeaning> output_of(const ModelOptions& options,
                                                      std::span<const engine::OutputForm> forms,
                                                      const engine::Recipe& recipe,
                                                      const std::optional<engine::FoundLabels>& labels);

// Times of one picture, in milliseconds.
struct PictureTiming {
  double decode_ms = 0;
  double preprocess_ms = 0;
  double inference_ms = 0;
};

struct PictureResult {
  std::vector<engine::Score> top;
  int width_px = 0;
  int height_px = 0;
  bool orientation_applied = false;
  camera::CropRect crop_px;
  PictureTiming timing;
};

// What of a picture the model sees: the part that the recipe says, or all of it, as of one that is such a part already.
enum class Framing : std::uint8_t { kRecipe, kWhole };

// Thread-bound.
class Classifier {
 public:
  // Notes what it had to guess (recipe, labels) on stderr. kBadData: the input is no picture, labels do not fit.
  [[nodiscard]] static Result<Classifier> open(const ModelOptions& options, Output& out);

  [[nodiscard]] Result<PictureResult> classify(std::span<const std::byte> picture, std::size_t top_count,
                                               Framing framing = Framing::kRecipe);
  // Decodes and prepares the picture into the session's first input, without running.
  [[nodiscard]] Result<PictureResult> prepare(std::span<const std::byte> picture, Framing framing = Framing::kRecipe);
  // Answers what is in the input, however it came there: scores of 0 to 1, one a label, valid until the next run.
  [[nodiscard]] Result<std::span<const float>> run();

  // Of the last picture that was classified, one a label.
  [[nodiscard]] std::span<const float> scores() const { return scores_; }
  [[nodiscard]] const engine::Recipe& recipe() const { return preprocessor_.recipe(); }
  [[nodiscard]] const engine::Labels& labels() const { return labels_; }
  [[nodiscard]] const engine::OutputMeaning& output() const { return reader_.meaning(); }
  [[nodiscard]] engine::ScoreNature score_nature() const { return output().nature(recipe().temperature); }
  [[nodiscard]] engine::Session& session() { return session_; }
  [[nodiscard]] const camera::InputTensor& input() const { return input_; }

 private:
  Classifier(engine::Session session, engine::Labels labels, camera::Preprocessor preprocessor,
             camera::InputTensor input, engine::OutputMeaning output);

  engine::Session session_;
  engine::Labels labels_;
  camera::Preprocessor preprocessor_;
  camera::InputTensor input_;
  engine::ScoreReader reader_;
  std::vector<float> scores_;
};

// Pictures of the arguments in order: files as they are, folders as their *.jpg, *.jpeg and *.png by name, "-" as
// stdin. kNotFound: a folder without pictures.
[[nodiscard]] Result<std::vector<std::string>> expand_pictures(const std::vector<std::string>& arguments);
// A JPEG or PNG within the tool's limits. kBadData as camera::decode_image.
[[nodiscard]] Result<camera::DecodedImage> decode_picture(std::span<const std::byte> picture, camera::Upright upright);
// The bytes of a file, or of stdin for "-".
[[nodiscard]] Result<std::string> read_picture(const std::string& name);

}  // namespace kinglet::cli
