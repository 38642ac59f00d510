// SPDX-License-Identifier: Apache-2.0
// Why: which way up a photograph is. Only the orientation tag is read, from hostile bytes, without a library.
#include <algorithm>

#include "camera/decode/decode_parts.h"

namespace kinglet::camera::internal {
namespace {

constexpr std::uint16_t kOrientationTag = 0x0112;
constexpr std::uint16_t kTypeShort = 3;
constexpr std::uint16_t kTypeLong = 4;

enum class ByteOrder { kLittle, kBig };

// Reads `count` bytes at `offset`; nothing when they are not all there.
std::optional<std::uint32_t> read_uint(Bytes bytes, std::size_t offset, std::size_t count, ByteOrder order) {
  if (offset > bytes.size() || bytes.size() - offset < count) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = offset + (order == ByteOrder::kBig ? i : count - 1 - i);
    value = value << 8 | std::to_integer<std::uint32_t>(bytes[at]);
  }
  return value;
}

bool starts_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::ranges::equal(text, bytes.first(text.size()), [](char c, std::byte b) {
           return static_cast<std::byte>(c) == b;
         });
}

}  // namespace

int orientation_of_tiff(Bytes tiff) {
  const bool little = starts_with(tiff, "II");
  if (!little && !starts_with(tiff, "MM")) return 1;
  const ByteOrder order = little ? ByteOrder::kLittle : ByteOrder::kBig;
  if (read_uint(tiff, 2, 2, order) != 42U) return 1;
  const auto directory = read_uint(tiff, 4, 4, order);
  if (!directory) return 1;
  const auto entry_count = read_uint(tiff, *directory, 2, order);
  if (!entry_count) return 1;
  for (std::size_t i = 0; i < *entry_count; ++i) {
    const std::size_t entry = std::size_t{*directory} + 2 + 12 * i;
    const auto tag = read_uint(tiff, entry, 2, order);
    if (!tag) return 1;
    if (*tag != kOrientationTag) continue;
    const auto type = read_uint(tiff, entry + 2, 2, order);
    const auto value = read_uint(tiff, entry + 8, type == kTypeLong ? 4 : 2, order);
    const bool number = type == kTypeShort || type == kTypeLong;
    return number && value && *value >= 1 && *value <= 8 ? static_cast<int>(*value) : 1;
  }
  return 1;
}

int orientation_of_jpeg(Bytes bytes) {
  std::size_t offset = 2;  // after SOI
  while (true) {
    const auto marker = read_uint(bytes, offset, 2, ByteOrder::kBig);
    if (!marker || (*marker & 0xFF00U) != 0xFF00U) return 1;
    if (*marker == 0xFFFFU) {  // fill bytes before a marker
      ++offset;
      continue;
    }
    if (*marker == 0xFFDAU || *marker == 0xFFD9U) return 1;  // the picture begins, or nothing follows
    const auto length = read_uint(bytes, offset + 2, 2, ByteOrder::kBig);
    if (!length || *length < 2 || bytes.size() - offset - 2 < *length) return 1;
    const Bytes payload = bytes.subspan(offset + 4, *length - 2);
    constexpr std::string_view kExif("Exif\0\0", 6);
    if (*marker == 0xFFE1U && starts_with(payload, kExif)) return orientation_of_tiff(payload.subspan(kExif.size()));
    offset += 2 + *length;
  }
}

int orientation_of_png(Bytes bytes) {
  std::size_t offset = 8;  // after the signature
  while (true) {
    const auto length = read_uint(bytes, offset, 4, ByteOrder::kBig);
    if (!length || bytes.size() - offset < 12 || bytes.size() - offset - 12 < *length) return 1;
    const Bytes chunk = bytes.subspan(offset + 4, 4 + std::size_t{*length});
    if (starts_with(chunk, "eXIf")) return orientation_of_tiff(chunk.subspan(4));
    offset += 12 + std::size_t{*length};
  }
}

Image upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const auto width = static_cast<std::ptrdiff_t>(image.width);
  const auto height = static_cast<std::ptrdiff_t>(image.height);
  const bool turned = is_turned(orientation);
  Image out;
  out.width = turned ? image.height : image.width;
  out.height = turned ? image.width : image.height;
  out.rgb.resize(image.rgb.size());
  // Source pixel of output (x, y) is start + x * along_x + y * along_y; EXIF 2.3, figure of tag 0x0112.
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::ptrdiff_t step_column = from_right ? -1 : 1;
  const std::ptrdiff_t step_row = from_bottom ? -width : width;
  const std::ptrdiff_t start = (from_right ? width - 1 : 0) + (from_bottom ? (height - 1) * width : 0);
  const std::ptrdiff_t along_x = turned ? step_row : step_column;
  const std::ptrdiff_t along_y = turned ? step_column : step_row;
  std::byte* to = out.rgb.data();
  for (std::ptrdiff_t y = 0; y < out.height; ++y) {
    std::ptrdiff_t from = start + y * along_y;
    for (std::ptrdiff_t x = 0; x < out.width; ++x, from += along_x, to += 3) {
      std::copy_n(image.rgb.data() + 3 * from, 3, to);
    }
  }
  return out;
}

}  // namespace kinglet::camera::internal
