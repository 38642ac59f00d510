// SPDX-License-Identifier: Apache-2.0
// Why: TensorFlow Lite's tools append files (labels) to a model as a zip, which libzip reads.
#pragma once

#include <zip.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::engine::tflite {

class AttachedFiles {
 public:
  // Nothing: there is no zip behind the model. kBadData: it is damaged. `bytes` outlive the result.
  [[nodiscard]] static Result<std::optional<AttachedFiles>> open(std::string_view bytes);

  // kNotFound; kBadData: over 1 MiB, damaged, or packed in a way that is not known.
  [[nodiscard]] Result<std::string> read(const std::string& name) const;
  // The name of the only file that ends in ".txt"; empty: there is none, or there are several.
  [[nodiscard]] std::string only_text() const;

 private:
  struct Close {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };
  explicit AttachedFiles(zip_t* archive) : archive_(archive) {}

  std::unique_ptr<zip_t, Close> archive_;
};

}  // namespace kinglet::engine::tflite
