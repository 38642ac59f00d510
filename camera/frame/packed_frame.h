// SPDX-License-Identifier: Apache-2.0
// Why: frames as they go through pipes and files: planes one after the other, rows without padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/frame/frame.h"

namespace kinglet::camera {

// Bytes of such a frame; of kMjpeg: its picture's. `view` has fitting sides (check_view); its planes are used for
// kMjpeg only.
[[nodiscard]] std::uint64_t packed_size(const FrameView& view);

// `shape` (format, size, colour) with the planes that stand in `bytes`, which are packed_size() long. kBadData: another
// length, or sides that do not fit the format.
[[nodiscard]] Result<FrameView> packed_view(const FrameView& shape, std::span<const std::byte> bytes);

// The pixels of `view`, which was checked, into `bytes`.
void pack(const FrameView& view, std::vector<std::byte>& bytes);

}  // namespace kinglet::camera
