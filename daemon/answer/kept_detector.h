// SPDX-License-Identifier: Apache-2.0
// Why: the detector that the configuration names, or why there is none: the model names birds without it, so it stops
// nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/line/frame_line.h"
#include "daemon/line/line_detector.h"
#include "engine/base/log.h"

namespace kinglet::daemon {

class KeptDetector {
 public:
  // Loads it, and says in the log what came of that.
  KeptDetector(LineDetectorOptions options, std::shared_ptr<const engine::ThreadPool> pool, const LogSink& log);

  // Does it know people? That it fails now and then changes nothing of that.
  [[nodiscard]] bool knows_people() const { return detector_ && detector_->knows(Being::kPerson); }
  // Does it look for them? To be asked on any thread, also when this is gone.
  [[nodiscard]] std::function<bool()> sees_people() const {
    return [detector = detector_, knows = knows_people()] { return knows && detector->problem().empty(); };
  }
  [[nodiscard]] LineDetector* get() const { return detector_.get(); }  // nullptr: none works
  // As Vitals has it. Any thread.
  [[nodiscard]] std::optional<std::string> problem() const;
  // That it fails since it was loaded, and of what, and that it works again. Main's thread only.
  void tell(const LogSink& log);
  void attach(FrameLine& line) const { line.use_detector(detector_); }

 private:
  const bool wished_;
  std::shared_ptr<LineDetector> detector_;
  std::string problem_;  // why it was not loaded
  bool failure_told_ = false;
};

}  // namespace kinglet::daemon
