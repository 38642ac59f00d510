// SPDX-License-Identifier: Apache-2.0
// Why: JPEG through libjpeg itself, which alone lets us stop after too many scans and tell damage from warnings.
// The decoder's settings (accurate DCT, smooth chroma) are those of Pillow, so that pixels are the same.
#include <cstdio>

#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <format>
#include <memory>
#include <string>

#include "camera/decode_parts.h"
#include "engine/base/text.h"

namespace kinglet::camera::internal {
namespace {

constexpr int kMaxScans = 100;

// libjpeg leaves an error by longjmp, so functions between setjmp and libjpeg own nothing that needs a destructor;
// what must be freed lives here.
struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX] = "";
  bool damaged = false;      // data broken or missing in the middle of a scan
  bool ended_early = false;  // no end marker: with progressive scans later ones may be missing
  Image image;

  Decoder() {
    info.err = jpeg_std_error(&errors);
    info.client_data = this;
  }
  ~Decoder() { jpeg_destroy_decompress(&info); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
};

Decoder& of(j_common_ptr info) { return *static_cast<Decoder*>(info->client_data); }

[[noreturn]] void on_error(j_common_ptr info) {
  Decoder& decoder = of(info);
  info->err->format_message(info, decoder.message);
  std::longjmp(decoder.escape, 1);
}

void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;  // trace output
  Decoder& decoder = of(info);
  switch (info->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
      decoder.damaged = true;
      break;
    case JWRN_JPEG_EOF:
      decoder.ended_early = true;
      break;
    default:
      break;  // stray bytes and odd markers do no harm to the pixels
  }
}

void on_progress(j_common_ptr info) {
  Decoder& decoder = of(info);
  if (decoder.info.input_scan_number <= kMaxScans) return;
  std::snprintf(decoder.message, sizeof decoder.message, "more than %d scans", kMaxScans);
  std::longjmp(decoder.escape, 1);
}

bool read_header(Decoder& decoder, Bytes bytes) {
  if (setjmp(decoder.escape) != 0) return false;
  decoder.errors.error_exit = on_error;
  decoder.errors.emit_message = on_message;
  decoder.progress.progress_monitor = on_progress;
  jpeg_create_decompress(&decoder.info);
  decoder.info.progress = &decoder.progress;
  jpeg_mem_src(&decoder.info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&decoder.info, TRUE);
  return true;
}

J_COLOR_SPACE wanted_space(const jpeg_decompress_struct& info) {
  if (info.num_components == 1) return JCS_GRAYSCALE;
  return info.num_components == 4 ? JCS_CMYK : JCS_RGB;
}

// Rows go to the end of the pixel buffer's row, so that gray can be spread and CMYK is converted in place.
bool read_rows(Decoder& decoder, unsigned char* scratch) {
  if (setjmp(decoder.escape) != 0) return false;
  jpeg_decompress_struct& info = decoder.info;
  info.out_color_space = wanted_space(info);
  info.dct_method = JDCT_ISLOW;
  info.do_fancy_upsampling = TRUE;
  jpeg_start_decompress(&info);
  const auto width = static_cast<std::size_t>(decoder.image.width);
  auto* out = reinterpret_cast<unsigned char*>(decoder.image.rgb.data());
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = info.output_components == 3 ? out : scratch;
    jpeg_read_scanlines(&info, &row, 1);
    if (info.output_components == 1) {
      for (std::size_t x = 0; x < width; ++x) out[3 * x] = out[3 * x + 1] = out[3 * x + 2] = scratch[x];
    } else if (info.output_components == 4) {
      // Adobe's inverted CMYK, as Pillow assumes of every four-channel JPEG: 255 is no ink.
      for (std::size_t x = 0; x < width; ++x) {
        const unsigned white = scratch[4 * x + 3];
        for (std::size_t c = 0; c < 3; ++c) {
          const unsigned ink = (255U - scratch[4 * x + c]) * white + 128U;
          out[3 * x + c] = static_cast<unsigned char>(white - ((ink + (ink >> 8)) >> 8));
        }
      }
    }
    out += 3 * width;
  }
  jpeg_finish_decompress(&info);
  return true;
}

std::unexpected<Error> not_decodable(const Decoder& decoder) {
  return fail(ErrorCode::kBadData, "JPEG cannot be decoded: " + printable(decoder.message));
}

ImageSize size_of(const Decoder& decoder) {
  return {static_cast<int>(decoder.info.image_width), static_cast<int>(decoder.info.image_height)};
}

}  // namespace

bool is_jpeg(Bytes bytes) {
  return bytes.size() >= 3 && bytes[0] == std::byte{0xFF} && bytes[1] == std::byte{0xD8} && bytes[2] == std::byte{0xFF};
}

Result<ImageSize> read_jpeg_size(Bytes bytes) {
  Decoder decoder;
  if (!read_header(decoder, bytes)) return not_decodable(decoder);
  return size_of(decoder);
}

Result<Image> decode_jpeg(Bytes bytes, const DecodeLimits& limits) {
  Decoder decoder;
  if (!read_header(decoder, bytes)) return not_decodable(decoder);
  const ImageSize size = size_of(decoder);
  KINGLET_TRY(check_size(size, limits));
  decoder.image.width = size.width;
  decoder.image.height = size.height;
  decoder.image.rgb.resize(std::size_t{3} * static_cast<std::size_t>(size.width) *
                           static_cast<std::size_t>(size.height));
  const auto scratch = std::make_unique<unsigned char[]>(std::size_t{4} * static_cast<std::size_t>(size.width));
  if (!read_rows(decoder, scratch.get())) return not_decodable(decoder);
  if (decoder.damaged || (decoder.ended_early && decoder.info.progressive_mode != 0)) {
    return fail(ErrorCode::kBadData, "JPEG is truncated or damaged: part of the picture is missing");
  }
  return std::move(decoder.image);
}

}  // namespace kinglet::camera::internal
