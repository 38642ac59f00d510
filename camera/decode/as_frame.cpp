// SPDX-License-Identifier: Apache-2.0
// Why: a photograph's file tells more than a picture: where it was taken, by what, a preview, often a second picture or
// a film behind it. As a frame it is sent to everybody who watches. Bytes are hostile; what is strange is no frame.
#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "camera/decode/decode_parts.h"

namespace kinglet::camera {
namespace {

using internal::Bytes;

constexpr unsigned kStartOfScan = 0xDA, kEnd = 0xD9, kJfif = 0xE0, kAdobe = 0xEE, kComment = 0xFE;
// Sizes in one scan, Huffman's tables, the scan, factors, how often it begins anew.
constexpr std::array kDecoded{0xC0U, 0xC1U, 0xC4U, kStartOfScan, 0xDBU, 0xDDU};

unsigned at(Bytes bytes, std::size_t offset) { return std::to_integer<unsigned>(bytes[offset]); }

bool begins_with(Bytes payload, std::string_view name) {
  return payload.size() >= name.size() && std::ranges::equal(name, payload.first(name.size()), [](char c, std::byte b) {
           return static_cast<std::byte>(c) == b;
         });
}

enum class Segment { kOfPixels, kBesideThem, kStrange };

// Of the pixels is what is decoded, and which colours they are.
Segment kind_of(unsigned marker, Bytes payload) {
  constexpr std::size_t kJfifWithoutPreview = 14;
  constexpr std::size_t kAdobeAlone = 12;
  if (marker == kJfif && begins_with(payload, std::string_view("JFIF\0", 5)) && payload.size() == kJfifWithoutPreview) {
    return Segment::kOfPixels;
  }
  // Its colours count, whatever stands behind them.
  if (marker == kAdobe && begins_with(payload, "Adobe")) {
    return payload.size() == kAdobeAlone ? Segment::kOfPixels : Segment::kStrange;
  }
  if (marker == kComment || (marker >= 0xE0 && marker <= 0xEF)) return Segment::kBesideThem;
  // Not all others have a length, as a decoder reads them.
  return std::ranges::contains(kDecoded, marker) ? Segment::kOfPixels : Segment::kStrange;
}

// Behind the last byte of the scan that begins there: the next marker that is not one of the scan's own, or the end.
std::size_t end_of_scan(Bytes bytes, std::size_t offset) {
  while (offset < bytes.size()) {
    const Bytes rest = bytes.subspan(offset);
    const auto* const found = static_cast<const std::byte*>(std::memchr(rest.data(), 0xFF, rest.size()));
    if (found == nullptr || found == &rest.back()) return bytes.size();
    offset += static_cast<std::size_t>(found - rest.data());
    const unsigned next = at(bytes, offset + 1);
    if (next == 0xFF) {
      ++offset;
    } else if (next == 0 || (next >= 0xD0 && next <= 0xD7)) {
      offset += 2;
    } else {
      return offset;
    }
  }
  return bytes.size();
}

}  // namespace

std::optional<std::vector<std::byte>> as_frame(Bytes jpeg, std::vector<std::byte> room) {
  if (!internal::is_jpeg(jpeg) || internal::orientation_of_jpeg(jpeg) != 1) return std::nullopt;
  internal::keep_for(jpeg.size(), room);
  std::vector<std::byte> frame = std::move(room);
  frame.reserve(jpeg.size() + 2);
  frame.assign(jpeg.begin(), jpeg.begin() + 2);
  std::size_t offset = 2;
  while (jpeg.size() - offset >= 4 && at(jpeg, offset) == 0xFF) {
    const unsigned marker = at(jpeg, offset + 1);
    if (marker == 0xFF) {  // fills
      ++offset;
      continue;
    }
    if (marker == kEnd) break;
    const std::size_t length = 2 + (std::size_t{at(jpeg, offset + 2)} << 8 | at(jpeg, offset + 3));
    if (length < 4 || jpeg.size() - offset < length) return std::nullopt;
    const Bytes segment = jpeg.subspan(offset, length);
    const Segment kind = kind_of(marker, segment.subspan(4));
    if (kind == Segment::kStrange) return std::nullopt;
    if (kind == Segment::kOfPixels) frame.insert(frame.end(), segment.begin(), segment.end());
    offset += length;
    if (marker != kStartOfScan) continue;
    const std::size_t end = end_of_scan(jpeg, offset);
    frame.insert(frame.end(), jpeg.begin() + static_cast<std::ptrdiff_t>(offset),
                 jpeg.begin() + static_cast<std::ptrdiff_t>(end));
    offset = end;
    break;  // the only one
  }
  frame.push_back(std::byte{0xFF});
  frame.push_back(static_cast<std::byte>(kEnd));
  if (!internal::is_plain_jpeg(frame)) return std::nullopt;
  return frame;
}

}  // namespace kinglet::camera
