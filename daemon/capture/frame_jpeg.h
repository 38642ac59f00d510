// SPDX-License-Identifier: Apache-2.0
// Why: frames and pictures as the texts of JPEG files, which is how they are kept and sent.
#pragma once

#include <string>

#include "camera/frame/frame.h"
#include "camera/preprocess/preprocess.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

// Of pixels.
[[nodiscard]] Result<std::string> jpeg_of(const camera::Image& image, int quality);
// The same of a frame; one that is a JPEG already stays as it is. kBadData: planes too short, no JPEG that can be read.
[[nodiscard]] Result<std::string> jpeg_of(const camera::FrameView& view, int quality);
// For who takes several parts of one JPEG. kBadData: it cannot be decoded.
[[nodiscard]] Result<camera::Image> pixels_of(const camera::FrameView& view);
// Of a part of a picture, as far as it lies in it, made smaller so that no side has more pixels than `most`.
[[nodiscard]] Result<std::string> jpeg_of_part(const camera::FrameView& view, const CropRect& part, int most,
                                               int quality);
// The bytes of a frame that is a JPEG.
[[nodiscard]] std::string jpeg_of(const camera::FrameView& mjpeg);

}  // namespace kinglet::daemon
