// SPDX-License-Identifier: Apache-2.0
// Why: JPEG through libjpeg itself, which alone lets us stop after too many scans, know beforehand what a picture of
// several scans would hold in memory, and tell damage from warnings.
// The decoder's settings (accurate DCT, smooth chroma) are those of Pillow, so that pixels are the same; where fewer
// pixels are enough, those of its draft mode.
#include <cstdio>

#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <memory>
#include <string>

#include "camera/decode/decode_parts.h"
#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::camera::internal {
namespace {

constexpr int kAllPixels = 8;  // eighths of a side
constexpr int kMaxScans = 100;
// Each scan goes over the whole picture: a large one may have fewer, as many as encoders really write.
constexpr std::int64_t kScansOfLargest = 16;
// Of a picture in several scans all coefficients are held until the last one, beside its pixels.
constexpr std::int64_t kCoefficientBytesPerPixel = 2;

// libjpeg leaves an error by longjmp, so functions between setjmp and libjpeg own nothing that needs a destructor;
// what must be freed lives here.
struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX] = "";
  bool warned = false;       // of anything
  bool damaged = false;      // data broken or missing in the middle of a scan
  bool ended_early = false;  // no end marker: with progressive scans later ones may be missing
  int max_scans = kMaxScans;
  int eighths = kAllPixels;
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
  decoder.warned = true;
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
  if (decoder.info.input_scan_number <= decoder.max_scans) return;
  std::snprintf(decoder.message, sizeof decoder.message, "more than %d scans", decoder.max_scans);
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
  info.scale_num = static_cast<unsigned>(decoder.eighths);
  info.scale_denom = kAllPixels;
  jpeg_start_decompress(&info);
  // A decoder that knows pictures without loss does not make those smaller.
  if (static_cast<int>(info.output_width) != decoder.image.width ||
      static_cast<int>(info.output_height) != decoder.image.height) {
    std::snprintf(decoder.message, sizeof decoder.message, "of a kind that cannot be decoded smaller");
    return false;
  }
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

// As libjpeg rounds them.
ImageSize reduced(ImageSize size, int eighths) {
  const auto side = [eighths](int all) {
    return static_cast<int>((std::int64_t{all} * eighths + kAllPixels - 1) / kAllPixels);
  };
  return {side(size.width), side(size.height)};
}

int eighths_of(ImageSize size, const DecodeLimits& limits, const EnoughPixels& enough) {
  int eighths = kAllPixels;
  if (enough) {
    const ImageSize least = enough(size);
    // Those for which the decoder has quick loops.
    for (const int fewer : {4, 2, 1}) {
      const ImageSize made = reduced(size, fewer);
      if (made.width >= least.width && made.height >= least.height) eighths = fewer;
    }
  }
  const auto is_kept = [&](ImageSize made) {
    return limits.kept_pixels == 0 || std::int64_t{made.width} * made.height <= limits.kept_pixels;
  };
  while (eighths > 1 && !is_kept(reduced(size, eighths))) --eighths;
  return eighths;
}

std::int64_t coefficient_bytes(Decoder& decoder) {
  jpeg_decompress_struct& info = decoder.info;
  if (jpeg_has_multiple_scans(&info) == FALSE) return 0;
  std::int64_t blocks = 0;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& component = info.comp_info[i];
    blocks += std::int64_t{component.width_in_blocks} * component.height_in_blocks;
  }
  return blocks * static_cast<std::int64_t>(sizeof(JBLOCK));
}

// In memory and in work; libjpeg knows them from the header.
Result<void> limit_scans(Decoder& decoder, const DecodeLimits& limits) {
  const ImageSize size = size_of(decoder);
  const std::int64_t need = coefficient_bytes(decoder);
  const std::int64_t most = kCoefficientBytesPerPixel * limits.max_pixels;
  if (need > most) {
    return fail(ErrorCode::kBadData,
                format_text("a JPEG of {}x{} pixels in several scans holds {:.0f} MB of coefficients; the limit is "
                            "{:.0f} MB",
                            size.width, size.height, static_cast<double>(need) / 1e6, static_cast<double>(most) / 1e6),
                {}, "save it without \"progressive\", or scale it down");
  }
  const std::int64_t scans = kScansOfLargest * limits.max_pixels / (std::int64_t{size.width} * size.height);
  decoder.max_scans = static_cast<int>(std::clamp(scans, kScansOfLargest, std::int64_t{kMaxScans}));
  return {};
}

}  // namespace

bool is_jpeg(Bytes bytes) {
  return bytes.size() >= 3 && bytes[0] == std::byte{0xFF} && bytes[1] == std::byte{0xD8} && bytes[2] == std::byte{0xFF};
}

bool is_plain_jpeg(Bytes bytes) {
  Decoder decoder;
  // The line takes a warning for damage.
  if (!read_header(decoder, bytes) || decoder.warned) return false;
  jpeg_decompress_struct& info = decoder.info;
  // Of these the decoder warns only when it starts.
  if (info.Ss != 0 || info.Se != DCTSIZE2 - 1 || info.Ah != 0 || info.Al != 0) return false;
  if (jpeg_has_multiple_scans(&info) != FALSE || info.arith_code != FALSE || info.data_precision != 8) return false;
  if (info.num_components == 1) return info.jpeg_color_space == JCS_GRAYSCALE;
  if (info.num_components != 3 || info.jpeg_color_space != JCS_YCbCr) return false;
  const std::span components(info.comp_info, 3);
  const auto is_coarsest = [](const jpeg_component_info& one) {
    return one.h_samp_factor == 1 && one.v_samp_factor == 1;
  };
  return components[0].h_samp_factor <= 2 && components[0].v_samp_factor <= 2 &&
         std::ranges::all_of(components.subspan(1), is_coarsest);
}

Result<ImageSize> read_jpeg_size(Bytes bytes) {
  Decoder decoder;
  if (!read_header(decoder, bytes)) return not_decodable(decoder);
  return size_of(decoder);
}

Result<ImageSize> read_jpeg_size(Bytes bytes, const DecodeLimits& limits) {
  Decoder decoder;
  if (!read_header(decoder, bytes)) return not_decodable(decoder);
  KINGLET_TRY(check_size(size_of(decoder), limits));
  KINGLET_TRY(limit_scans(decoder, limits));
  return size_of(decoder);
}

Result<StoredImage> decode_jpeg(Bytes bytes, const DecodeLimits& limits, const EnoughPixels& enough,
                                std::vector<std::byte> room) {
  Decoder decoder;
  if (!read_header(decoder, bytes)) return not_decodable(decoder);
  const ImageSize size = size_of(decoder);
  KINGLET_TRY(check_size(size, limits));
  KINGLET_TRY(limit_scans(decoder, limits));
  decoder.eighths = eighths_of(size, limits, enough);
  const ImageSize made = reduced(size, decoder.eighths);
  decoder.image.width = made.width;
  decoder.image.height = made.height;
  const std::size_t size_bytes =
      std::size_t{3} * static_cast<std::size_t>(made.width) * static_cast<std::size_t>(made.height);
  keep_for(size_bytes, room);
  decoder.image.rgb = std::move(room);
  decoder.image.rgb.resize(size_bytes);
  const auto scratch = std::make_unique<unsigned char[]>(std::size_t{4} * static_cast<std::size_t>(made.width));
  if (!read_rows(decoder, scratch.get())) return not_decodable(decoder);
  if (decoder.damaged || (decoder.ended_early && decoder.info.progressive_mode != 0)) {
    return fail(ErrorCode::kBadData, "JPEG is truncated or damaged: part of the picture is missing");
  }
  return StoredImage{.image = std::move(decoder.image), .size = size};
}

}  // namespace kinglet::camera::internal
