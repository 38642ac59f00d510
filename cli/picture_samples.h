// SPDX-License-Identifier: Apache-2.0
// Why: pictures as the samples of engine/quantize: prepared by the model's recipe, with their labels where they are
// told. What `quantize` and `compare` measure on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/picture_pipeline.h"
#include "engine/quantize/calibration/samples.h"

namespace kinglet::cli {

// The picture as the model's first input, in the order of its shape. The error names the file.
[[nodiscard]] Result<engine::Tensor> prepared_picture(PicturePipeline& pipeline, const std::string& file);

struct PictureSamples {
  std::vector<std::string> files;                  // names of the pictures
  std::vector<std::optional<std::size_t>> labels;  // the model's class, where a picture's label names one
  engine::Samples samples;                         // valid while `pipeline` lives
  std::unique_ptr<PicturePipeline> pipeline;
  std::size_t labelled = 0;
  std::size_t damaged = 0;  // left out, with a warning each
  std::string digest;       // "sha256:...", of the digests of all in order: the same pictures, the same text
};

// The pictures of `where` as of find_pictures(). Prepared ones are kept as far as they fit 64 MiB, others are decoded
// again each time. Errors as there; kBadData also: none can be read.
[[nodiscard]] Result<PictureSamples> open_picture_samples(const ModelOptions& model, const std::string& where,
                                                          std::size_t most, Output& out);

}  // namespace kinglet::cli
