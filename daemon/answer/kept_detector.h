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

  // Does it look for people? To be asked on any thread, also when this is gone.
  [[nodiscard]] std::function<bool()> sees_people() const {
    return
        [detector = detector_] { return detector && detector->knows(Being::kPerson) && detector->problem().empty(); };
  }
  [[nodiscard]] LineDetector* get() const { return detector_.get(); }  // nullptr: none works
  // As Vitals has it. Any thread.
  [[nodiscard]] std::optional<std::string> problem() const;
  // Once what it failed of since it was loaded. Main's thread only.
  void tell(const LogSink& log);
  void attach(FrameLine& line) const { line.use_detector(detector_); }

 private:
  const bool wished_;
  std::shared_ptr<LineDetector> detector_;
  std::string problem_;  // why it was not loaded
  bool told_ = false;
};

}  // namespace kinglet::daemon
