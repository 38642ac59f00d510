// SPDX-License-Identifier: Apache-2.0
// Why: a model with everything that makes its numbers mean something: recipe, labels, facts for people.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "camera/preprocess/preprocess.h"
#include "engine/base/error.h"
#include "engine/recipe/labels.h"
#include "engine/recipe/recipe.h"
#include "engine/session/score_reader.h"
#include "engine/session/session.h"
#include "visits/taxa.h"

namespace kinglet::daemon {

struct ClassifierOptions {
  std::filesystem::path model;
  std::filesystem::path labels;   // empty: MODEL.labels.txt beside the model, else numbered
  std::filesystem::path recipe;   // empty: as engine::find_recipe
  std::filesystem::path species;  // species table; empty: MODEL.species.tsv beside the model, if there is one
  std::filesystem::path names;    // species table of common names; empty: none
  std::string output;             // the one that has the scores; empty: engine::decide_output chooses
  std::string name;               // empty: the file's stem
  std::string digest;             // of the model file, where it is known; empty: it is computed
  int threads = 1;
  std::shared_ptr<const engine::ThreadPool> pool;  // of those threads; empty: one of its own
  bool demonstration = false;                      // kinglet's own demonstration model
};

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
  std::filesystem::path species;  // the tables that made them, as ClassifierOptions has them
  std::filesystem::path names;
  engine::Recipe recipe;
  bool recipe_found = false;  // false: the default recipe, which may be wrong for this model
  engine::OutputMeaning output;
  engine::PlanInfo plan;
  int threads = 1;
  Milliseconds load_time{};
  Milliseconds warmup_time{};

  [[nodiscard]] engine::ScoreNature score_nature() const { return output.nature(recipe.temperature); }
};

// The same model by the tables of species and names as their files are now; nullptr: they say what they said. Errors as
// of the tables.
[[nodiscard]] Result<std::shared_ptr<const ModelFacts>> read_names_again(const ModelFacts& facts);

// Thread-bound after open(): one thread at a time, but prepare_next() may run on another one while run() does.
class Classifier {
 public:
  // Errors as of Session::open, find_recipe and Labels; kBadData for a model that is no image classifier (says what
  // was expected) and for a label count that does not fit. The model has run once when this returns.
  [[nodiscard]] static Result<Classifier> open(const ClassifierOptions& options);

  [[nodiscard]] const std::shared_ptr<const ModelFacts>& facts() const { return facts_; }

  // Of this model, with other names.
  void set_facts(std::shared_ptr<const ModelFacts> facts) { facts_ = std::move(facts); }

  // Fills the model's input. Gives the part of the frame that was used.
  [[nodiscard]] Result<camera::CropRect> prepare(const camera::FrameView& frame,
                                                 const std::optional<camera::CropRect>& crop);
  // The same; what `decoder` has decoded of this frame is not decoded again.
  [[nodiscard]] Result<camera::CropRect> prepare(const camera::FrameView& frame,
                                                 const std::optional<camera::CropRect>& crop,
                                                 camera::MjpegPlanes& decoder);
  // The same, kept aside until take_next() makes it the model's input.
  [[nodiscard]] Result<camera::CropRect> prepare_next(const camera::FrameView& frame,
                                                      const std::optional<camera::CropRect>& crop,
                                                      camera::MjpegPlanes& decoder);
  [[nodiscard]] const camera::Preprocessor& preprocessor() const { return preprocessor_; }
  void take_next() { take(next_input_); }
  // The same with numbers at hand: the input as it is held in memory, of its size.
  void take(std::span<const std::byte> input);
  // An output of the newest run as it is held in memory, of its size.
  void give(std::size_t index, std::span<std::byte> output) const;
  // The recipe's resize rule for a part of the frame as if it were the frame.
  [[nodiscard]] camera::CropRect crop_within(const camera::CropRect& part) const;
  // Scores of 0 to 1, one a label; valid until the next run. Not finite where the model's output is not.
  [[nodiscard]] Result<std::span<const float>> run();

 private:
  Classifier(engine::Session session, camera::Preprocessor preprocessor, camera::InputTensor input,
             const engine::OutputMeaning& output);

  engine::Session session_;
  camera::Preprocessor preprocessor_;
  camera::InputTensor input_;
  std::vector<std::byte> next_input_;
  engine::ScoreReader reader_;
  std::vector<float> scores_;
  std::shared_ptr<const ModelFacts> facts_;
};

}  // namespace kinglet::daemon
