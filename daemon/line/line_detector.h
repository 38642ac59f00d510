// SPDX-License-Identifier: Apache-2.0
// Why: a detector as second opinion beside the model of a line: what it finds in a part of a frame, and what is known
// of it. One for the lines of all cameras.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "camera/frame/frame.h"
#include "camera/preprocess/mjpeg_planes.h"
#include "camera/preprocess/preprocess.h"
#include "daemon/line/regions/findings.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/base/mutex.h"
#include "engine/picture/detector_model.h"

namespace kinglet::daemon {

struct LineDetectorOptions {
  std::filesystem::path model;   // empty: none is wished
  std::filesystem::path labels;  // empty: MODEL.labels.txt beside the model, or in it
  std::filesystem::path recipe;  // a file or a preset; empty: MODEL.recipe.json, or in the model
  int threads = 1;
  std::shared_ptr<const engine::ThreadPool> pool = {};  // of those threads; empty: one of its own
};

// Thread-bound, but for what says otherwise.
class LineDetector {
 public:
  // Errors as of engine::DetectorModel, with the keys of the configuration that help; kBadData: none of its classes has
  // a name that means anything here. It has run when this returns.
  [[nodiscard]] static Result<std::shared_ptr<LineDetector>> open(const LineDetectorOptions& options);

  // What does not change; any thread.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const engine::Labels& labels() const { return model_.labels(); }
  [[nodiscard]] std::string_view head() const { return engine::to_string(model_.recipe().boxes->head); }
  [[nodiscard]] bool knows(Being being) const;
  // Of a whole picture of this size (camera::enough_pixels).
  [[nodiscard]] camera::ImageSize enough_pixels(camera::ImageSize picture) const;
  // Why it has said nothing since it failed; empty: it works. Any thread.
  [[nodiscard]] std::string problem() const;

  // Adds what lives in a part of a frame that is looked at `now`, or in the whole of it. Allocates nothing once it has
  // seen a frame of this kind. An error that is the detector's own is its problem(), until a look is answered again.
  [[nodiscard]] Result<void> look(const camera::FrameView& frame, const std::optional<CropRect>& part, SteadyTime now,
                                  camera::MjpegPlanes& decoder, Findings& found);
  // Is it to be asked? Not for a minute after it failed, and for twice as long as the last time, at most an hour, when
  // it fails again as soon as it is asked.
  [[nodiscard]] bool works(SteadyTime now) const { return now >= again_at_; }
  // The seconds of a look, as they were so far.
  [[nodiscard]] double cost() const { return cost_; }

 private:
  LineDetector(std::string name, engine::DetectorModel model);
  [[nodiscard]] Result<CropRect> prepare(const camera::FrameView& frame, const std::optional<CropRect>& part,
                                         camera::MjpegPlanes& decoder);
  // Frames that cannot be prepared are a problem while there are many in a row.
  void note_prepared(const Result<CropRect>& prepared);
  void note_failed(SteadyTime now, const Error& error);
  void set_problem(std::string problem);

  const std::string name_;
  engine::DetectorModel model_;
  // Two, because a letterbox keeps the tables of one shape.
  camera::Preprocessor squares_;
  camera::Preprocessor wholes_;
  std::vector<Being> beings_;  // one a class
  double cost_ = 0;
  int unprepared_ = 0;                   // frames in a row
  std::optional<SteadyTime> failed_at_;  // the newest failure
  SteadyClock::duration pause_{};        // after it
  SteadyTime again_at_ = SteadyTime::min();
  bool failed_ = false;  // and has answered nothing since
  mutable Mutex mutex_;
  std::string problem_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::daemon
