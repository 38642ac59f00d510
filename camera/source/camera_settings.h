// SPDX-License-Identifier: Apache-2.0
// Why: what a person sets of a camera (rows of settings.def), from the configuration to the program that has the
// camera.
#pragma once

#include <string>
#include <vector>

#include "engine/base/area.h"

namespace kinglet::camera {

struct CameraSettings {
#define KINGLET_CAMERA_SETTING(type, name, default_, help) type name = default_;
#include "camera/source/settings.def"
#undef KINGLET_CAMERA_SETTING

  bool operator==(const CameraSettings&) const = default;
};

// "exposure_value" as kinglet-camera's option: "--exposure-value".
[[nodiscard]] std::string option_of(std::string name);

// kinglet-camera's options for all that is not default, in the order of the rows.
[[nodiscard]] std::vector<std::string> to_arguments(const CameraSettings& settings);

}  // namespace kinglet::camera
