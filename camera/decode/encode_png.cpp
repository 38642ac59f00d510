// SPDX-License-Identifier: Apache-2.0
// Why: pictures without loss, for frames that tests and training compare to the last bit.
#include <png.h>

#include <cstring>
#include <vector>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"

namespace kinglet::camera {

Result<std::vector<std::byte>> encode_png(const FrameView& view) {
  const Image rgb = KINGLET_TRY(to_rgb(view));
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(rgb.width);
  image.height = static_cast<png_uint_32>(rgb.height);
  image.format = PNG_FORMAT_RGB;
  image.flags = PNG_IMAGE_FLAG_FAST;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<std::byte> bytes(size);
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, rgb.rgb.data(), 0, nullptr) == 0) {
    return fail(ErrorCode::kInternal, std::string("PNG encoding failed: ") + image.message);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace kinglet::camera
