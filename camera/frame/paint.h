// SPDX-License-Identifier: Apache-2.0
// Why: privacy masks: parts of the picture become black before anyone else sees it.
#pragma once

#include <span>

#include "camera/frame/frame.h"
#include "engine/base/area.h"

namespace kinglet::camera {

// Blackens the pixels of `areas`, in 4:2:0 and 4:2:2 up to the next whole pair. `view` shows `bytes`, in any format but
// kMjpeg.
void blacken(std::span<const Area> areas, const FrameView& view, std::span<std::byte> bytes);

}  // namespace kinglet::camera
