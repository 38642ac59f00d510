// SPDX-License-Identifier: Apache-2.0
#include "camera/decode/decode.h"

#include <algorithm>

#include "camera/decode/decode_parts.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera {
namespace {

using internal::Bytes;

enum class Kind { kJpeg, kPng };

Result<Kind> kind_of(Bytes bytes) {
  if (internal::is_jpeg(bytes)) return Kind::kJpeg;
  if (internal::is_png(bytes)) return Kind::kPng;
  if (bytes.empty()) return fail(ErrorCode::kBadData, "picture is empty (zero bytes)", {}, "copy or take it again");
  return fail(ErrorCode::kBadData, "not a JPEG or PNG picture (by its first bytes)", {},
              "convert it to JPEG or PNG first");
}

}  // namespace

namespace internal {

Result<void> check_size(ImageSize size, const DecodeLimits& limits) {
  if (size.width <= 0 || size.height <= 0) {
    return fail(ErrorCode::kBadData, format_text("picture of {}x{} pixels", size.width, size.height));
  }
  if (size.width > limits.max_side || size.height > limits.max_side) {
    return fail(ErrorCode::kBadData,
                format_text("{}x{} pixels; the limit for a side is {}", size.width, size.height, limits.max_side), {},
                "scale the picture down");
  }
  const std::int64_t pixels = std::int64_t{size.width} * size.height;
  if (pixels > limits.max_pixels) {
    return fail(ErrorCode::kBadData,
                format_text("{}x{} is {:.1f} megapixels; the limit is {:.1f}", size.width, size.height,
                            static_cast<double>(pixels) / 1e6, static_cast<double>(limits.max_pixels) / 1e6),
                {}, "scale the picture down");
  }
  return {};
}

}  // namespace internal

Result<ImageSize> read_image_size(std::span<const std::byte> bytes) {
  return KINGLET_TRY(kind_of(bytes)) == Kind::kJpeg ? internal::read_jpeg_size(bytes) : internal::read_png_size(bytes);
}

Result<ImageSize> read_image_size(std::span<const std::byte> bytes, const DecodeLimits& limits) {
  if (KINGLET_TRY(kind_of(bytes)) == Kind::kJpeg) return internal::read_jpeg_size(bytes, limits);
  const ImageSize size = KINGLET_TRY(internal::read_png_size(bytes));
  KINGLET_TRY(internal::check_size(size, limits));
  return size;
}

Result<DecodedImage> decode_image(std::span<const std::byte> bytes, const DecodeLimits& limits, Upright upright,
                                  const EnoughPixels& enough, std::vector<std::byte> room) {
  const Kind kind = KINGLET_TRY(kind_of(bytes));
  int orientation = 1;
  if (upright == Upright::kApplyExif)
    orientation = kind == Kind::kJpeg ? internal::orientation_of_jpeg(bytes) : internal::orientation_of_png(bytes);
  const auto shown = [&](ImageSize stored) {
    return internal::is_turned(orientation) ? ImageSize{stored.height, stored.width} : stored;
  };
  DecodedImage decoded;
  if (kind == Kind::kJpeg) {
    EnoughPixels as_stored;
    if (enough) as_stored = [&](ImageSize stored) { return shown(enough(shown(stored))); };
    internal::StoredImage jpeg = KINGLET_TRY(internal::decode_jpeg(bytes, limits, as_stored, std::move(room)));
    decoded.image = std::move(jpeg.image);
    decoded.size = shown(jpeg.size);
  } else {
    internal::StoredImage png = KINGLET_TRY(internal::decode_png(bytes, limits));
    decoded.image = std::move(png.image);
    decoded.size = shown(png.size);
  }
  decoded.orientation_applied = orientation != 1;
  decoded.image = internal::upright(std::move(decoded.image), orientation);
  return decoded;
}

Image means_of(const Image& image, int times) {
  const auto size = [times](int side) { return (side + times - 1) / times; };
  Image small{.width = size(image.width), .height = size(image.height), .rgb = {}};
  small.rgb.reserve(std::size_t{3} * static_cast<std::size_t>(small.width) * static_cast<std::size_t>(small.height));
  std::vector<std::uint32_t> sums(std::size_t{3} * static_cast<std::size_t>(small.width));
  const std::byte* from = image.rgb.data();
  for (int top = 0; top < image.height; top += times) {
    std::ranges::fill(sums, 0U);
    const int rows = std::min(times, image.height - top);
    for (int row = 0; row < rows; ++row) {
      for (int x = 0; x < image.width; ++x) {
        std::uint32_t* const sum = sums.data() + 3 * (x / times);
        for (int c = 0; c < 3; ++c) sum[c] += std::to_integer<std::uint32_t>(*from++);
      }
    }
    for (int x = 0; x < small.width; ++x) {
      const auto count = static_cast<std::uint32_t>(rows * std::min(times, image.width - x * times));
      for (int c = 0; c < 3; ++c) small.rgb.push_back(static_cast<std::byte>((sums[3 * x + c] + count / 2) / count));
    }
  }
  return small;
}

}  // namespace kinglet::camera
