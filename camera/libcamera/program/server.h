// SPDX-License-Identifier: Apache-2.0
// Why: one camera and one daemon: frames to it, buffers back, until the socket ends.
#pragma once

#include "camera/libcamera/program/device.h"
#include "engine/base/error.h"

namespace kinglet::camera {

// Runs on the calling thread until the daemon closes `socket` or SIGTERM or SIGINT comes (which the caller has
// blocked). kUnavailable: the camera cannot be had or has failed; the daemon has been told.
[[nodiscard]] Result<void> serve(const DeviceWish& wish, int socket);

}  // namespace kinglet::camera
