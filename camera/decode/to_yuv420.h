// SPDX-License-Identifier: Apache-2.0
// Why: a picture of ours as a camera would give it, in half the bytes of its RGB.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "camera/frame/frame.h"

namespace kinglet::camera {

// Full range BT.601 (JFIF's), planes as packed_view() has them, into `bytes`. Both sides of the image are even.
void to_yuv420(const Image& image, std::vector<std::byte>& bytes);

// What to_yuv420() made of a picture of this size; valid as long as `bytes`.
[[nodiscard]] FrameView view_of_yuv420(ImageSize size, std::span<const std::byte> bytes);

}  // namespace kinglet::camera
