// SPDX-License-Identifier: Apache-2.0
// Why: which streams a camera is asked for, and what it made of that.
#pragma once

#include <libcamera/camera.h>

#include <memory>
#include <string>

#include "camera/source/camera_settings.h"
#include "engine/base/error.h"

namespace kinglet::camera {

struct StreamWish {
  unsigned width = 1280;
  unsigned height = 720;
  unsigned small_width = 0;  // of a second stream; 0: none
  CameraSettings settings;   // how the picture is turned
};

// Asks the camera of this name for what stands in `wanted`, turned like `orientation`; its first stream is then what
// the camera made of it. kUnavailable: nothing that kinglet reads, or it cannot be turned so.
[[nodiscard]] Result<void> settle(libcamera::CameraConfiguration& wanted, libcamera::Orientation orientation,
                                  const std::string& camera);

// Validated. at(0): pictures of a size near to the wish; at(1), only where the camera offers it: the same pictures in
// the same format and shape, but smaller. kUnavailable: no stream that kinglet reads, or one that cannot be turned;
// kUsage: a rotation that is no right angle.
[[nodiscard]] Result<std::unique_ptr<libcamera::CameraConfiguration>> make_configuration(libcamera::Camera& camera,
                                                                                         const StreamWish& wish);

}  // namespace kinglet::camera
