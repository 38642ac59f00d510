// SPDX-License-Identifier: Apache-2.0
// Why: "the first camera" and "camera 1" mean another one as soon as one is unplugged. What was meant at the first
// start is remembered over restarts of the source, so that the picture never changes to another room's unseen.
#pragma once

#include <optional>
#include <string>

#include "engine/base/mutex.h"

namespace kinglet::camera {

// Thread-safe: a source that hangs may still be at it while its successor starts.
class ChosenCamera {
 public:
  struct Choice {
    std::string wish;   // as the source's spec has it
    std::string id;     // what it meant
    std::string model;  // empty where this does not tell it from another one
  };

  // Nothing for another wish than the one that was remembered.
  [[nodiscard]] std::optional<Choice> choice(const std::string& wish) const {
    const MutexLock lock(mutex_);
    return choice_ && choice_->wish == wish ? choice_ : std::nullopt;
  }
  void remember(Choice choice) {
    const MutexLock lock(mutex_);
    choice_ = std::move(choice);
  }

 private:
  mutable Mutex mutex_;
  std::optional<Choice> choice_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::camera
