// SPDX-License-Identifier: Apache-2.0
// Why: `source = "auto"`: the best source that is there (a camera through libcamera, else through rpicam-vid). The
// demonstration scene may stand in for a camera, but only before the demonstration model: a real one names drawn birds
// as if they were there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "camera/source/source.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

// What is shown where no camera is at the first start.
enum class StandIn : std::uint8_t { kNothing, kScene };

// Remembers the choice over restarts of the source: a camera that was there once is never replaced by the scene, so
// that nobody takes drawn birds for real ones. Outlives the sources that it opens; thread-safe.
class AutoChoice {
 public:
  // A source whose first start() decides, and whose description says what was chosen and why. `options.spec` is
  // ignored. kUnavailable: there is no camera, and nothing stands in.
  [[nodiscard]] std::unique_ptr<FrameSource> open(const SourceOptions& options, StandIn stand_in);
  [[nodiscard]] bool is_demonstration() const;
  // The scene is not wanted any more: the next start looks for a camera. False: it was not chosen.
  [[nodiscard]] bool forget_scene();

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
