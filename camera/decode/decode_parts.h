// SPDX-License-Identifier: Apache-2.0
// Why: the pieces of decode.cpp, one file a format; nobody else includes this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "camera/decode/decode.h"

namespace kinglet::camera::internal {

using Bytes = std::span<const std::byte>;

[[nodiscard]] bool is_jpeg(Bytes bytes);
[[nodiscard]] bool is_png(Bytes bytes);

// What is much larger than so many bytes, which come next, is given back: one large picture does not cost memory for
// as long as small ones follow.
inline void keep_for(std::size_t bytes, std::vector<std::byte>& room) {
  constexpr std::size_t kLittle = std::size_t{1} << 20;
  if (room.capacity() > 2 * bytes + kLittle) room = {};
}

struct StoredImage {
  Image image;
  ImageSize size;  // of the picture
};

// As stored, not turned. kBadData as in decode.h. `enough`: of the picture as it is stored; may be empty.
[[nodiscard]] Result<StoredImage> decode_jpeg(Bytes bytes, const DecodeLimits& limits, const EnoughPixels& enough,
                                              std::vector<std::byte> room);
[[nodiscard]] Result<StoredImage> decode_png(Bytes bytes, const DecodeLimits& limits);
// One that camera/preprocess/mjpeg_planes.h takes, as far as the header tells: in one scan, nothing strange in it.
[[nodiscard]] bool is_plain_jpeg(Bytes bytes);
[[nodiscard]] Result<ImageSize> read_jpeg_size(Bytes bytes);
[[nodiscard]] Result<ImageSize> read_jpeg_size(Bytes bytes, const DecodeLimits& limits);
[[nodiscard]] Result<ImageSize> read_png_size(Bytes bytes);

// kBadData when the sides are not positive or over the limits.
[[nodiscard]] Result<void> check_size(ImageSize size, const DecodeLimits& limits);

// EXIF 2.3, tag 0x0112 of IFD 0: 1 to 8; 1 when there is none or it makes no sense.
[[nodiscard]] int orientation_of_tiff(Bytes tiff);
[[nodiscard]] int orientation_of_jpeg(Bytes bytes);
[[nodiscard]] int orientation_of_png(Bytes bytes);

// Turns or mirrors so that orientation 1 comes out.
[[nodiscard]] Image upright(Image image, int orientation);

// Do its sides change places?
[[nodiscard]] constexpr bool is_turned(int orientation) { return orientation >= 5 && orientation <= 8; }

}  // namespace kinglet::camera::internal
