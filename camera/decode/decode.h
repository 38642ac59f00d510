// SPDX-License-Identifier: Apache-2.0
// Why: JPEG and PNG bytes (hostile) become an upright RGB image, as Pillow's convert("RGB") after exif_transpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "camera/frame/frame.h"
#include "engine/base/error.h"

namespace kinglet::camera {

struct DecodeLimits {
  std::int64_t max_pixels = 24'000'000;  // checked in the header, before decoding; the tool allows 200,000,000
  int max_side = 16'384;                 // the tool allows 65,535
  std::int64_t kept_pixels = 0;          // of a larger picture fewer are decoded, at most so many; 0: all are
};

// From the header alone, as stored (not turned). kBadData: not a JPEG or PNG, no size in it.
[[nodiscard]] Result<ImageSize> read_image_size(std::span<const std::byte> bytes);

// The same of a picture that decode_image() would take with these limits, as far as the header tells.
[[nodiscard]] Result<ImageSize> read_image_size(std::span<const std::byte> bytes, const DecodeLimits& limits);

enum class Upright { kApplyExif, kAsStored };

struct DecodedImage {
  Image image;     // `size` pixels, or fewer: of a JPEG so many eighths a side, of a PNG a half, a third and so on
  ImageSize size;  // of the picture
  bool orientation_applied = false;
};

// How many pixels of a picture of this size, as it is shown, are enough for the one who asks.
using EnoughPixels = std::function<ImageSize(ImageSize picture)>;

// kBadData: not a JPEG or PNG, truncated, too large, animated PNG, more than 100 JPEG scans (of the
// largest picture more than 16), coefficients of several scans of more than 2 bytes for each of max_pixels; the message
// says which.
// Gray, 16-bit, palette, alpha (dropped, as Pillow's convert does), CMYK and JPEGs without Huffman tables are decoded.
// A JPEG is decoded to the smallest of the decoder's sizes that has `enough` pixels a side, which takes less time and
// memory; whatever is wrong with it is found all the same. Without `enough` all its pixels are, up to kept_pixels.
// The memory of `room` is used again where it fits.
[[nodiscard]] Result<DecodedImage> decode_image(std::span<const std::byte> bytes, const DecodeLimits& limits,
                                                Upright upright, const EnoughPixels& enough = {},
                                                std::vector<std::byte> room = {});

// The picture with `times` fewer pixels a side, each the mean of `times` x `times`; of fewer at the right and below.
[[nodiscard]] Image means_of(const Image& image, int times);

// A JPEG as the frame of a camera (PixelFormat::kMjpeg) without what is beside its pixels, such as the place where it
// was taken; its pixels are the same. Nothing: of another kind (turned, of several scans, neither gray nor YCbCr). Who
// decodes it finds out whether it is damaged. The memory of `room` is used again where it fits.
[[nodiscard]] std::optional<std::vector<std::byte>> as_frame(std::span<const std::byte> jpeg,
                                                             std::vector<std::byte> room = {});

// Any frame to JPEG (4:2:0, quality 1..100), for snapshots, clips and recordings.
[[nodiscard]] Result<std::vector<std::byte>> encode_jpeg(const FrameView& view, int quality);

// Without loss, quick rather than small.
[[nodiscard]] Result<std::vector<std::byte>> encode_png(const FrameView& view);

}  // namespace kinglet::camera
