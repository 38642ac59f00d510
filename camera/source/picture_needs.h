// SPDX-License-Identifier: Apache-2.0
// Why: a photograph that lies on the disk is decoded to as many pixels as somebody looks at, and only who looks knows.
#pragma once

#include <functional>
#include <utility>

#include "camera/frame/frame.h"
#include "engine/base/mutex.h"

namespace kinglet::camera {

// Between those who look at whole pictures and the source that decodes them. Thread-safe.
class PictureNeeds {
 public:
  // Of a picture of this size, as it is shown, how many pixels are enough; called by the source's thread.
  using Enough = std::function<ImageSize(ImageSize picture)>;

  void say(Enough enough) {
    const MutexLock lock(mutex_);
    enough_ = std::move(enough);
  }
  // Empty: nobody has said, all are wanted.
  [[nodiscard]] Enough enough() const {
    const MutexLock lock(mutex_);
    return enough_;
  }

 private:
  mutable Mutex mutex_;
  Enough enough_ KINGLET_GUARDED_BY(mutex_);
};

}  // namespace kinglet::camera
