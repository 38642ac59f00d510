// SPDX-License-Identifier: Apache-2.0
// Why: `source = "auto"`: the first camera; where there is none at the first start, the demonstration scene.
#pragma once

#include <atomic>
#include <memory>

#include "camera/source.h"

namespace kinglet::daemon {

// Remembers the choice over restarts of the source: a camera that was there once is never replaced by the scene, so
// that nobody takes drawn birds for real ones. Outlives the sources that it opens; thread-safe.
class AutoChoice {
 public:
  // A source whose first start() decides. `options.spec` is ignored.
  [[nodiscard]] std::unique_ptr<camera::FrameSource> open(const camera::SourceOptions& options);
  [[nodiscard]] bool is_demonstration() const { return chosen_ == Chosen::kScene; }

  enum class Chosen { kNothing, kCamera, kScene };

 private:
  std::atomic<Chosen> chosen_{Chosen::kNothing};
};

}  // namespace kinglet::daemon
