// SPDX-License-Identifier: Apache-2.0
// Why: a frame's buffer must go back soon; who needs the pixels longer copies them, always into the same memory.
#pragma once

#include <cstddef>
#include <vector>

#include "camera/frame/frame.h"

namespace kinglet::camera {

// `copy` shows the same pixels, in `bytes`. Allocates only when the frame is larger than any before.
void copy_view(const FrameView& view, std::vector<std::byte>& bytes, FrameView& copy);

}  // namespace kinglet::camera
