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

bool begin_pixels(Decoder& decoder) {
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
  return true;
}

// The rows that come next, as many as there is room for; all of them of an interlaced picture.
bool read_rows(Decoder& decoder) {
  if (setjmp(decoder.escape) != 0) return false;
  if (decoder.rows.size() == png_get_image_height(decoder.png, decoder.info)) {
    png_read_image(decoder.png, decoder.rows.data());
  } else {
    png_read_rows(decoder.png, decoder.rows.data(), nullptr, static_cast<png_uint_32>(decoder.rows.size()));
  }
  return true;
}

// Of so many rows.
void make_room(Decoder& decoder, int height) {
  const std::size_t row_bytes = std::size_t{3} * static_cast<std::size_t>(decoder.image.width);
  decoder.image.height = height;
  decoder.image.rgb.resize(row_bytes * static_cast<std::size_t>(height));
  decoder.rows.clear();
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    decoder.rows.push_back(reinterpret_cast<png_bytep>(decoder.image.rgb.data() + y * row_bytes));
  }
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

// How many pixels a side become one, so that no more than these are kept.
int times_of(ImageSize size, std::int64_t kept_pixels) {
  const auto pixels = [&](int times) {
    return ((std::int64_t{size.width} + times - 1) / times) * ((size.height + times - 1) / times);
  };
  int times = 1;
  while (kept_pixels > 0 && pixels(times) > kept_pixels) ++times;
  return times;
}

// As many rows at a time as become one: all of them are never in memory.
bool read_means(Decoder& decoder, int times) {
  const auto height = static_cast<int>(png_get_image_height(decoder.png, decoder.info));
  const auto fewer = [times](int side) { return static_cast<std::size_t>((side + times - 1) / times); };
  Image small;
  small.rgb.reserve(3 * fewer(decoder.image.width) * fewer(height));
  for (int top = 0; top < height; top += times) {
    make_room(decoder, std::min(times, height - top));
    if (!read_rows(decoder)) return false;
    const Image row = means_of(decoder.image, times);
    small.width = row.width;
    small.height += row.height;
    small.rgb.insert(small.rgb.end(), row.rgb.begin(), row.rgb.end());
  }
  decoder.image = std::move(small);
  return true;
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
  if (!begin_pixels(decoder)) return not_decodable(decoder);
  const int times = times_of(size, limits.kept_pixels);
  if (times > 1 && png_get_interlace_type(decoder.png, decoder.info) == PNG_INTERLACE_NONE) {
    if (!read_means(decoder, times)) return not_decodable(decoder);
  } else {
    make_room(decoder, size.height);
    if (!read_rows(decoder)) return not_decodable(decoder);
    if (times > 1) decoder.image = means_of(decoder.image, times);
  }
  return StoredImage{.image = std::move(decoder.image), .size = size};
}

}  // namespace kinglet::camera::internal
