// SPDX-License-Identifier: Apache-2.0
// Why: `source = "auto"`: the best source that is there (a camera through libcamera, else through rpicam-vid); where
// there is none at the first start, the demonstration scene.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "camera/source.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

// Remembers the choice over restarts of the source: a camera that was there once is never replaced by the scene, so
// that nobody takes drawn birds for real ones. Outlives the sources that it opens; thread-safe.
class AutoChoice {
 public:
  // A source whose first start() decides, and whose description says what was chosen and why. `options.spec` is
  // ignored.
  [[nodiscard]] std::unique_ptr<FrameSource> open(const SourceOptions& options);
  [[nodiscard]] bool is_demonstration() const;

 private:
  friend class AutoSource;
  [[nodiscard]] std::string chosen() const;
  [[nodiscard]] std::string why() const;
  void choose(std::string_view spec, std::string why);

  mutable Mutex mutex_;
  std::string chosen_ KINGLET_GUARDED_BY(mutex_);  // a spec; empty: nothing yet
  std::string why_ KINGLET_GUARDED_BY(mutex_);     // what was not there, for people
};

}  // namespace kinglet::camera
