// SPDX-License-Identifier: Apache-2.0
// Why: beside the graph, a file of TensorFlow Lite may say how pictures are prepared (in a buffer of the model) and
// bring its labels (in a zip behind it). Both are hostile like the rest; what cannot be used is said, and the model
// goes on without it.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tflite/model_generated.h"

namespace kinglet::engine::tflite {

struct Normalization {
  std::array<double, 3> mean{};
  std::array<double, 3> std{};  // finite, above 0
};

struct Metadata {
  std::optional<Normalization> normalization;  // (pixel - mean) / std, of a float input
  std::optional<std::string> labels;           // a line for each class, as engine::Labels reads them
  std::vector<std::string> notes;              // what was found or could not be used, a line each
};

// `model` was verified and lies in `bytes`, the whole file. Labels are a text of the zip: the one that the metadata
// names for the output, the English one of several; without metadata the only one. They are taken where their number is
// `classes`, if that is known.
[[nodiscard]] Metadata read_metadata(const Model& model, std::string_view bytes, std::optional<std::size_t> classes);

}  // namespace kinglet::engine::tflite
