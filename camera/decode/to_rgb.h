// SPDX-License-Identifier: Apache-2.0
// Why: any frame as an RGB picture of its own size, for snapshots and recordings.
#pragma once

#include "camera/frame/frame.h"
#include "engine/base/error.h"

namespace kinglet::camera {

// kBadData: planes too short for size and stride, an undecodable MJPEG frame. Throws nothing.
[[nodiscard]] Result<Image> to_rgb(const FrameView& frame);
// The same without a copy where it is RGB already, else in `room`.
[[nodiscard]] Result<FrameView> as_rgb(const FrameView& frame, Image& room);

}  // namespace kinglet::camera
