// SPDX-License-Identifier: Apache-2.0
#include "camera/decode/decode.h"
#include "camera/preprocess/mjpeg_planes.h"
#include "camera/preprocess/preprocess.h"
#include "engine/base/check.h"
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
  const auto smaller = camera::decode_image(bytes, limits, camera::Upright::kApplyExif, enough);
  if (!smaller) return;
  if (const auto frame = camera::as_frame(bytes)) {
    const auto shown = camera::decode_image(*frame, limits, camera::Upright::kAsStored, enough);
    KINGLET_CHECK(shown && shown->size.width == smaller->size.width && shown->size.height == smaller->size.height);
    camera::FrameView view{.format = camera::PixelFormat::kMjpeg};
    view.width = shown->size.width;
    view.height = shown->size.height;
    view.planes[0] = {.bytes = *frame, .stride = 0};
    view.plane_count = 1;
    camera::MjpegPlanes planes;
    KINGLET_CHECK(planes.decode(view, view.width, view.height).has_value());
  }
  KINGLET_CHECK(smaller->image.width <= smaller->size.width && smaller->image.height <= smaller->size.height);
  const auto number = [&](std::size_t at) { return std::to_integer<int>(bytes[at % bytes.size()]) - 4; };
  const CropRect crop{number(1), number(2), number(3), number(4)};
  std::array<std::byte, std::size_t{3} * 8 * 8> pixels{};
  const engine::PictureInput input{
      .bytes = pixels, .type = engine::DataType::kU8, .width = 8, .height = 8, .layout = engine::TensorLayout::kNhwc};
  static_cast<void>(
      camera::Preprocessor(engine::Recipe{}, 8, 8).run_reduced(smaller->image.view(), smaller->size, crop, input));
}

}  // namespace kinglet::fuzz
