// SPDX-License-Identifier: Apache-2.0
// Why: the picture model of a line of frames: what prepares frames for it, and what is known of it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "camera/preprocess/preprocess.h"
#include "daemon/line/model_facts.h"
#include "engine/base/error.h"
#include "engine/picture/picture_model.h"

namespace kinglet::daemon {

struct LineModelOptions {
  std::filesystem::path model;
  std::filesystem::path labels;  // empty: MODEL.labels.txt beside the model, else numbered
  std::filesystem::path recipe;  // empty: as engine::find_recipe
  visits::TableFiles tables;     // of species, and of common names
  std::string output;            // the one that has the scores; empty: engine::decide_output chooses
  engine::Precision precision = engine::Precision::kAuto;
  std::filesystem::path state_folder = {};  // pictures to try it with, and its packed weights; empty: none of both
  std::string name;                         // empty: the file's stem
  std::string digest;                       // of the model file, where it is known; empty: it is computed
  std::string stamp;                        // of that file as it had that digest (engine::stamp_of_file)
  int threads = 1;
  std::shared_ptr<const engine::ThreadPool> pool;  // of those threads; empty: one of its own
  bool demonstration = false;                      // kinglet's own demonstration model
};

// Thread-bound after open(): one thread at a time, but prepare_next() may run on another one while run() does.
class LineModel {
 public:
  // Errors as of engine::PictureModel and the tables of species. The model has run once when this returns.
  [[nodiscard]] static Result<LineModel> open(const LineModelOptions& options);

  [[nodiscard]] const std::shared_ptr<const ModelFacts>& facts() const { return facts_; }

  // Of this model, with other names.
  void set_facts(std::shared_ptr<const ModelFacts> facts) { facts_ = std::move(facts); }

  // Fills the model's input. Gives the part of the frame that was used.
  [[nodiscard]] Result<CropRect> prepare(const camera::FrameView& frame, const std::optional<CropRect>& crop);
  // The same; what `decoder` has decoded of this frame is not decoded again.
  [[nodiscard]] Result<CropRect> prepare(const camera::FrameView& frame, const std::optional<CropRect>& crop,
                                         camera::MjpegPlanes& decoder);
  // The same, kept aside until take_next() makes it the model's input.
  [[nodiscard]] Result<CropRect> prepare_next(const camera::FrameView& frame, const std::optional<CropRect>& crop,
                                              camera::MjpegPlanes& decoder);
  enum class Place : std::uint8_t { kInput, kAside };
  // The same two with a still that shows a picture of `size` in fewer pixels (camera::Preprocessor::run_reduced).
  [[nodiscard]] Result<CropRect> prepare_reduced(const camera::FrameView& still, camera::ImageSize size,
                                                 const std::optional<CropRect>& crop, Place place);
  // The same two with a part of a frame of which each frame has other ones (camera::Preprocessor::run_part).
  [[nodiscard]] Result<CropRect> prepare_part(const camera::FrameView& frame, const CropRect& part,
                                              std::span<const int> sizes, Place place, camera::MjpegPlanes& decoder);
  [[nodiscard]] const camera::Preprocessor& preprocessor() const { return preprocessor_; }
  void take_next() { take(next_input_); }
  // The same with numbers at hand: the input as it is held in memory, of its size.
  void take(std::span<const std::byte> input);
  // An output of the newest run as it is held in memory, of its size.
  void give(std::size_t index, std::span<std::byte> output) const;
  // The recipe's resize rule for a part of the frame as if it were the frame.
  [[nodiscard]] CropRect crop_within(const CropRect& part) const;
  // Scores of 0 to 1, one a label; valid until the next run. Not finite where the model's output is not, which is an
  // answer of its own ("non_finite").
  [[nodiscard]] Result<std::span<const float>> run();

 private:
  explicit LineModel(engine::PictureModel model);

  engine::PictureModel model_;
  camera::Preprocessor preprocessor_;
  std::vector<std::byte> next_input_;
  std::shared_ptr<const ModelFacts> facts_;
};

}  // namespace kinglet::daemon
