// SPDX-License-Identifier: Apache-2.0
// Why: a frame's buffer must go back soon; who needs the pixels longer copies them, always into the same memory.
#pragma once

#include <cstddef>
#include <vector>

#include "camera/frame/frame.h"

namespace kinglet::camera {

// `copy` shows the same pixels, in `bytes`. Allocates only when the frame is larger than those before; more than 32 MiB
// of a much larger one are given back.
void copy_view(const FrameView& view, std::vector<std::byte>& bytes, FrameView& copy);

// `width` x `height` pixels from (x, y) on, which lie in the picture, where they are; even where pixels share colours.
// Of pixels only: a JPEG has no parts.
[[nodiscard]] FrameView part_of(const FrameView& view, int x, int y, int width, int height);
// The same as copy_view() has it.
void copy_part(const FrameView& view, int x, int y, int width, int height, std::vector<std::byte>& bytes,
               FrameView& copy);

}  // namespace kinglet::camera
