// SPDX-License-Identifier: Apache-2.0
#include "camera/decode/decode.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {

void picture(std::span<const std::byte> bytes) {
  const camera::DecodeLimits limits{.max_pixels = 1 << 20, .max_side = 4096};
  static_cast<void>(camera::read_image_size(bytes));
  static_cast<void>(camera::decode_image(bytes, limits, camera::Upright::kApplyExif));
  // As much smaller as the bytes happen to say.
  const auto enough = [&](camera::ImageSize size) {
    const int part = 1 << (bytes.size() % 4);
    return camera::ImageSize{size.width / part, size.height / part};
  };
  static_cast<void>(camera::decode_image(bytes, limits, camera::Upright::kApplyExif, enough));
}

}  // namespace kinglet::fuzz
