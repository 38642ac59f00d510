// SPDX-License-Identifier: Apache-2.0
// Why: PNG of every kind to 8-bit RGB: palettes spread, gray tripled, 16 bits cut to the high byte, alpha dropped.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "camera/decode/decode_parts.h"
#include "engine/base/text.h"

namespace kinglet::camera::internal {
namespace {

constexpr std::array<std::uint8_t, 8> kSignature{0x89, 'P', 'N', 'G', 0x0D, 0x0A, 0x1A, 0x0A};
constexpr std::size_t kChunkMemory = std::size_t{8} << 20;

// Like libjpeg, libpng leaves an error by longjmp: what needs a destructor lives here, not in the functions between.
struct Decoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf escape{};
  char message[128] = "";
  Bytes bytes;
  std::size_t offset = 0;
  Image image;
  std::vector<png_bytep> rows;

  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto& decoder = *static_cast<Decoder*>(png_get_error_ptr(png));
  std::snprintf(decoder.message, sizeof decoder.message, "%s", message);
  std::longjmp(decoder.escape, 1);
}

void on_warning(png_structp /*png*/, png_const_charp /*message*/) {}

void read_bytes(png_structp png, png_bytep out, std::size_t count) {
  auto& decoder = *static_cast<Decoder*>(png_get_io_ptr(png));
  if (decoder.bytes.size() - decoder.offset < count) png_error(png, "the file is truncated");
  std::memcpy(out, decoder.bytes.data() + decoder.offset, count);
  decoder.offset += count;
}

bool read_header(Decoder& decoder) {
  if (setjmp(decoder.escape) != 0) return false;
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, on_error, on_warning);
  if (decoder.png == nullptr) return false;
  decoder.info = png_create_info_struct(decoder.png);
  if (decoder.info == nullptr) png_error(decoder.png, "out of memory");
  png_set_read_fn(decoder.png, &decoder, read_bytes);
  png_set_chunk_malloc_max(decoder.png, kChunkMemory);
  png_set_chunk_cache_max(decoder.png, 64);
  png_set_user_limits(decoder.png, 1'000'000, 1'000'000);
  // Text and colour profiles are not used, so their compressed contents are never unpacked.
  png_set_keep_unknown_chunks(decoder.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(decoder.png, decoder.info);
  return true;
}

bool read_pixels(Decoder& decoder) {
  if (setjmp(decoder.escape) != 0) return false;
  png_structp png = decoder.png;
  const int color_type = png_get_color_type(png, decoder.info);
  png_set_strip_16(png);
  if (color_type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (color_type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  if ((color_type & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, decoder.info);
  if (png_get_rowbytes(png, decoder.info) != std::size_t{3} * static_cast<std::size_t>(decoder.image.width)) {
    png_error(png, "unexpected row size");
  }
  png_read_image(png, decoder.rows.data());
  return true;
}

std::unexpected<Error> not_decodable(const Decoder& decoder) {
  return fail(ErrorCode::kBadData, "PNG cannot be decoded: " + printable(decoder.message));
}

ImageSize size_of(const Decoder& decoder) {
  return {static_cast<int>(png_get_image_width(decoder.png, decoder.info)),
          static_cast<int>(png_get_image_height(decoder.png, decoder.info))};
}

// An animation's control chunk stands before the first picture data (APNG specification 1.0).
bool is_animated(Bytes bytes) {
  std::size_t offset = kSignature.size();
  while (offset <= bytes.size() && bytes.size() - offset >= 12) {
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data()) + offset;
    const std::size_t length = std::size_t{at[0]} << 24 | std::size_t{at[1]} << 16 | std::size_t{at[2]} << 8 | at[3];
    if (std::memcmp(at + 4, "acTL", 4) == 0) return true;
    if (std::memcmp(at + 4, "IDAT", 4) == 0) return false;
    offset += 12 + length;
  }
  return false;
}

void shrink(Image& image, std::int64_t kept_pixels) {
  const auto pixels = [&](int times) {
    return ((std::int64_t{image.width} + times - 1) / times) * ((image.height + times - 1) / times);
  };
  int times = 1;
  while (kept_pixels > 0 && pixels(times) > kept_pixels) ++times;
  if (times > 1) image = means_of(image, times);
}

}  // namespace

bool is_png(Bytes bytes) {
  return bytes.size() >= kSignature.size() && std::memcmp(bytes.data(), kSignature.data(), kSignature.size()) == 0;
}

Result<ImageSize> read_png_size(Bytes bytes) {
  Decoder decoder;
  decoder.bytes = bytes;
  if (!read_header(decoder)) return not_decodable(decoder);
  return size_of(decoder);
}

Result<StoredImage> decode_png(Bytes bytes, const DecodeLimits& limits) {
  if (is_animated(bytes)) {
    return fail(ErrorCode::kBadData, "animated PNG, expected a still picture", {}, "save one frame of it as a PNG");
  }
  Decoder decoder;
  decoder.bytes = bytes;
  if (!read_header(decoder)) return not_decodable(decoder);
  const ImageSize size = size_of(decoder);
  KINGLET_TRY(check_size(size, limits));
  decoder.image.width = size.width;
  decoder.image.height = size.height;
  const std::size_t row_bytes = std::size_t{3} * static_cast<std::size_t>(size.width);
  decoder.image.rgb.resize(row_bytes * static_cast<std::size_t>(size.height));
  for (std::size_t y = 0; y < static_cast<std::size_t>(size.height); ++y) {
    decoder.rows.push_back(reinterpret_cast<png_bytep>(decoder.image.rgb.data() + y * row_bytes));
  }
  if (!read_pixels(decoder)) return not_decodable(decoder);
  decoder.rows = {};
  shrink(decoder.image, limits.kept_pixels);
  return StoredImage{.image = std::move(decoder.image), .size = size};
}

}  // namespace kinglet::camera::internal
