// SPDX-License-Identifier: Apache-2.0
// Why: JPEG and PNG bytes (hostile) become an upright RGB image, as Pillow's convert("RGB") after exif_transpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "camera/frame/frame.h"
#include "engine/base/error.h"

namespace kinglet::camera {

struct DecodeLimits {
  std::int64_t max_pixels = 24'000'000;  // checked in the header, before decoding; the tool allows 200,000,000
  int max_side = 16'384;                 // the tool allows 65,535
};

struct ImageSize {
  int width = 0;
  int height = 0;
};

// From the header alone, as stored (not turned). kBadData: not a JPEG or PNG, no size in it.
[[nodiscard]] Result<ImageSize> read_image_size(std::span<const std::byte> bytes);

// The same of a picture that decode_image() would take with these limits, as far as the header tells.
[[nodiscard]] Result<ImageSize> read_image_size(std::span<const std::byte> bytes, const DecodeLimits& limits);

enum class Upright { kApplyExif, kAsStored };

struct DecodedImage {
  Image image;
  bool orientation_applied = false;
};

// kBadData: not a JPEG or PNG, truncated, too large, animated PNG, more than 100 JPEG scans (of the
// largest picture more than 16), coefficients of several scans of more than 2 bytes for each of max_pixels; the message
// says which.
// Gray, 16-bit, palette, alpha (dropped, as Pillow's convert does), CMYK and JPEGs without Huffman tables are decoded.
[[nodiscard]] Result<DecodedImage> decode_image(std::span<const std::byte> bytes, const DecodeLimits& limits,
                                                Upright upright);

// RGB to JPEG (4:2:0, quality 1..100), for snapshots.
[[nodiscard]] Result<std::vector<std::byte>> encode_jpeg(const FrameView& view, int quality);

// Without loss, quick rather than small.
[[nodiscard]] Result<std::vector<std::byte>> encode_png(const FrameView& view);

}  // namespace kinglet::camera
