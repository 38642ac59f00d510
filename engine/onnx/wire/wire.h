// SPDX-License-Identifier: Apache-2.0
// Why: the protobuf wire format (protobuf.dev, "Encoding") for those who write or walk it by hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kinglet::engine::onnx_format {

enum WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

inline void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>(static_cast<std::uint8_t>(value) | 0x80U));
  out.push_back(static_cast<char>(value));
}

[[nodiscard]] constexpr std::uint64_t varint_size(std::uint64_t value) {
  std::uint64_t size = 1;
  for (; value >= 0x80; value >>= 7U) ++size;
  return size;
}

// One field of a message.
struct WireField {
  std::uint64_t number = 0;
  WireType type = kVarint;
  std::uint64_t integer = 0;  // of a varint, or the bits of a fixed field
  std::string_view bytes;     // of a length-delimited field
};

// Takes the next field off `rest`; nothing when `rest` does not start with a well-formed one.
[[nodiscard]] std::optional<WireField> take_field(std::string_view& rest);

// The field as bytes of a message.
void append_field(std::string& out, const WireField& field);

}  // namespace kinglet::engine::onnx_format
