// SPDX-License-Identifier: Apache-2.0
// Why: the element types kinglet computes with (data_types.def). Others are refused at load, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace kinglet::engine {

// IEEE 754 binary16 as stored; arithmetic goes through float (float16.h).
enum class Half : std::uint16_t {};

enum class DataType : std::uint8_t {
#define KINGLET_DATA_TYPE(enumerator, element, name) enumerator,
#include "engine/graph/data_types.def"
#undef KINGLET_DATA_TYPE
};

inline constexpr DataType kDataTypes[] = {
#define KINGLET_DATA_TYPE(enumerator, element, name) DataType::enumerator,
#include "engine/graph/data_types.def"
#undef KINGLET_DATA_TYPE
};

// Gives f.template operator()<T>(), T being what one number is in memory: Half for f16, bool for bool.
template <typename F>
constexpr decltype(auto) with_element(DataType type, F&& f) {
  switch (type) {
#define KINGLET_DATA_TYPE(enumerator, element, name) \
  case DataType::enumerator:                         \
    return f.template operator()<element>();
#include "engine/graph/data_types.def"
#undef KINGLET_DATA_TYPE
  }
  std::unreachable();
}

[[nodiscard]] constexpr std::size_t byte_size(DataType type) {
  return with_element(type, []<typename T>() { return sizeof(T); });
}

// "f32", "f16", "i64", "i32", "i8", "u8", "bool": as the text form of graphs writes them.
[[nodiscard]] constexpr std::string_view to_string(DataType type) {
  constexpr std::string_view kNames[] = {
#define KINGLET_DATA_TYPE(enumerator, element, name) name,
#include "engine/graph/data_types.def"
#undef KINGLET_DATA_TYPE
  };
  return kNames[std::to_underlying(type)];
}

// The type of that name; nothing: there is none.
[[nodiscard]] constexpr std::optional<DataType> data_type_of(std::string_view name) {
  for (const DataType type : kDataTypes) {
    if (to_string(type) == name) return type;
  }
  return std::nullopt;
}

template <typename T>
struct DataTypeOf;
#define KINGLET_DATA_TYPE(enumerator, element, name)        \
  template <>                                               \
  struct DataTypeOf<element> {                              \
    static constexpr DataType value = DataType::enumerator; \
  };
#include "engine/graph/data_types.def"
#undef KINGLET_DATA_TYPE

}  // namespace kinglet::engine
