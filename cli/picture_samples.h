// SPDX-License-Identifier: Apache-2.0
// Why: a folder of pictures as the samples of engine/quantize: prepared by the model's recipe, with their labels where
// the folder tells them. What `quantize` and `compare` measure on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/classifier.h"
#include "engine/quantize/samples.h"

namespace kinglet::cli {

// The picture as the model's first input, in the order of its shape. The error names the file.
[[nodiscard]] Result<engine::Tensor> prepared_picture(Classifier& classifier, const std::string& file);

struct PictureSamples {
  std::vector<std::string> files;
  std::vector<std::optional<std::size_t>> labels;  // the model's class, where a picture's label names one
  engine::Samples samples;                         // valid while `classifier` lives
  std::unique_ptr<Classifier> classifier;
  std::size_t labelled = 0;
  std::size_t damaged = 0;  // left out, with a warning each
  std::string digest;       // "sha256:...", of the digests of all files in order: the same pictures, the same text
};

// The pictures of `folder`, at most `most` (evenly chosen). Prepared ones are kept as far as they fit 64 MiB, others
// are decoded again each time. kNotFound: no folder or no picture in it; kBadData: none can be read.
[[nodiscard]] Result<PictureSamples> open_picture_samples(const ModelOptions& model, const std::string& folder,
                                                          std::size_t most, Output& out);

}  // namespace kinglet::cli
