// SPDX-License-Identifier: Apache-2.0
// Why: what a person set of the camera, in libcamera's controls; what this camera does not offer is refused by name.
#pragma once

#include <libcamera/controls.h>
#include <libcamera/transform.h>

#include "camera/source/camera_settings.h"
#include "engine/base/error.h"

namespace kinglet::camera {

// `offered`: of the configured camera, because ranges depend on its mode. `frames_per_second` 0: the camera's own; a
// rate is a wish and never refused. kUnavailable: a control that this camera does not have or a value outside its
// range; kUsage: a value that no camera has.
[[nodiscard]] Result<libcamera::ControlList> make_controls(const CameraSettings& settings, double frames_per_second,
                                                           const libcamera::ControlInfoMap& offered);

// kUsage: a rotation that is no right angle.
[[nodiscard]] Result<libcamera::Transform> make_transform(const CameraSettings& settings);

}  // namespace kinglet::camera
