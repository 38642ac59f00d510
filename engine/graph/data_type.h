// SPDX-License-Identifier: Apache-2.0
// Why: the element types kinglet computes with. Others are refused at load, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kinglet::engine {

enum class DataType : std::uint8_t { kF32, kF16, kI64, kI32, kI8, kU8, kBool };

// IEEE 754 binary16 as stored; arithmetic goes through float (float16.h).
enum class Half : std::uint16_t {};

[[nodiscard]] constexpr std::size_t byte_size(DataType type) {
  switch (type) {
    case DataType::kI64:
      return 8;
    case DataType::kF32:
    case DataType::kI32:
      return 4;
    case DataType::kF16:
      return 2;
    default:
      return 1;
  }
}

// "f32", "f16", "i64", "i32", "i8", "u8", "bool": as the text form of graphs writes them.
[[nodiscard]] constexpr std::string_view to_string(DataType type) {
  switch (type) {
    case DataType::kF32:
      return "f32";
    case DataType::kF16:
      return "f16";
    case DataType::kI64:
      return "i64";
    case DataType::kI32:
      return "i32";
    case DataType::kI8:
      return "i8";
    case DataType::kU8:
      return "u8";
    case DataType::kBool:
      return "bool";
  }
  return "?";
}

template <typename T>
struct DataTypeOf;
template <>
struct DataTypeOf<float> {
  static constexpr DataType value = DataType::kF32;
};
template <>
struct DataTypeOf<Half> {
  static constexpr DataType value = DataType::kF16;
};
template <>
struct DataTypeOf<std::int64_t> {
  static constexpr DataType value = DataType::kI64;
};
template <>
struct DataTypeOf<std::int32_t> {
  static constexpr DataType value = DataType::kI32;
};
template <>
struct DataTypeOf<std::int8_t> {
  static constexpr DataType value = DataType::kI8;
};
template <>
struct DataTypeOf<std::uint8_t> {
  static constexpr DataType value = DataType::kU8;
};
template <>
struct DataTypeOf<bool> {
  static constexpr DataType value = DataType::kBool;
};

}  // namespace kinglet::engine
