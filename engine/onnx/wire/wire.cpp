// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/wire/wire.h"

#include <cstring>

namespace kinglet::engine::onnx_format {
namespace {

std::optional<std::uint64_t> take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto part = static_cast<std::uint8_t>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(part & 0x7FU) << shift;
    if (part < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> take_fixed(std::string_view& rest, std::size_t size) {
  if (rest.size() < size) return std::nullopt;
  std::uint64_t value = 0;
  std::memcpy(&value, rest.data(), size);
  rest.remove_prefix(size);
  return value;
}

}  // namespace

std::optional<WireField> take_field(std::string_view& rest) {
  const auto tag = take_varint(rest);
  if (!tag || *tag >> 3U == 0) return std::nullopt;
  WireField field{.number = *tag >> 3U, .type = static_cast<WireType>(*tag & 7U), .integer = 0, .bytes = {}};
  std::optional<std::uint64_t> value;
  switch (*tag & 7U) {
    case kVarint:
    case kLengthDelimited:
      value = take_varint(rest);
      break;
    case kFixed64:
      value = take_fixed(rest, 8);
      break;
    case kFixed32:
      value = take_fixed(rest, 4);
      break;
    default:
      return std::nullopt;
  }
  if (!value) return std::nullopt;
  field.integer = *value;
  if (field.type != kLengthDelimited) return field;
  if (*value > rest.size()) return std::nullopt;
  field.bytes = rest.substr(0, static_cast<std::size_t>(*value));
  rest.remove_prefix(field.bytes.size());
  return field;
}

void append_field(std::string& out, const WireField& field) {
  append_varint(out, field.number << 3U | field.type);
  switch (field.type) {
    case kVarint:
      append_varint(out, field.integer);
      break;
    case kFixed64:
      out.append(reinterpret_cast<const char*>(&field.integer), 8);
      break;
    case kFixed32:
      out.append(reinterpret_cast<const char*>(&field.integer), 4);
      break;
    case kLengthDelimited:
      append_varint(out, field.bytes.size());
      out += field.bytes;
      break;
  }
}

}  // namespace kinglet::engine::onnx_format
