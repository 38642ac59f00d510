// SPDX-License-Identifier: Apache-2.0
// Why: libcamera's names for pixels and colours, in kinglet's.
#pragma once

#include <libcamera/color_space.h>
#include <libcamera/pixel_format.h>
#include <libcamera/stream.h>

#include <optional>
#include <string>

#include "camera/frame/frame.h"
#include "camera/libcamera/protocol.h"
#include "engine/base/error.h"
#include "engine/base/file.h"

namespace kinglet::camera {

// libcamera follows DRM: its BGR888 has R,G,B in memory. Nothing for formats that kinglet does not read.
[[nodiscard]] std::optional<PixelFormat> from_libcamera(const libcamera::PixelFormat& format);

// The format that costs the CPU least and that the camera can give at `size`. kUnavailable lists what there is.
[[nodiscard]] Result<libcamera::PixelFormat> choose_format(const libcamera::StreamFormats& formats,
                                                           libcamera::Size size);

struct Colors {
  ColorMatrix matrix = ColorMatrix::kBt601;
  ColorRange range = ColorRange::kFull;
};
// From the validated configuration. Without one a device (`hardware`) gives limited range, as USB cameras do. The
// virtual camera's frames are JPEG files, whatever it says: nothing before libcamera 0.7, then Rec. 709.
[[nodiscard]] Colors choose_colors(const std::optional<libcamera::ColorSpace>& space, PixelFormat format,
                                   bool hardware);

}  // namespace kinglet::camera
