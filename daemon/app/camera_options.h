// SPDX-License-Identifier: Apache-2.0
// Why: what the configuration makes of each camera, before anything of it is opened.
#pragma once

#include <cstddef>

#include "config/config.h"
#include "daemon/answer/camera.h"

namespace kinglet::daemon {

// Of the camera at this place, one of config::camera_count(). Clips of larger pictures share their memory with those of
// the other cameras.
[[nodiscard]] CameraOptions camera_options(const config::Config& config, std::size_t index);

}  // namespace kinglet::daemon
