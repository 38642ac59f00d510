// SPDX-License-Identifier: Apache-2.0
// Why: what writing and reading models as JSON share: the table of fields, names of numbers, bytes as text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kinglet::engine::onnx_json {

enum class Message : std::uint8_t {
  kNothing,
  kModelProto,
  kOperatorSetIdProto,
  kGraphProto,
  kNodeProto,
  kAttributeProto,
  kTensorProto,
  kTensorProtoSegment,
  kStringStringEntryProto,
  kSparseTensorProto,
  kTypeProto,
  kTypeProtoTensor,
  kTypeProtoSequence,
  kTypeProtoMap,
  kTypeProtoOptional,
  kTypeProtoSparseTensor,
  kTypeProtoOpaque,
  kTensorShapeProto,
  kTensorShapeProtoDimension,
  kValueInfoProto,
  kTensorAnnotation,
  kTrainingInfoProto,
  kFunctionProto
};
enum class Kind : std::uint8_t { kInt, kUint, kFloat, kDouble, kText, kMessage };
enum class Times : std::uint8_t { kOnce, kRepeated, kPacked };
enum class Words : std::uint8_t { kNone, kAttributeType, kDataType, kDataLocation };

struct Field {
  Message message;
  std::uint64_t number;
  std::string_view name;
  Kind kind;
  Times times;
  Message child;
  Words words;
};

// nullptr: no such field.
[[nodiscard]] const Field* find_field(Message message, std::uint64_t number);
[[nodiscard]] const Field* find_field(Message message, std::string_view name);
[[nodiscard]] std::span<const Field> all_fields();

// The word for a number, or "" when it has none; and back.
[[nodiscard]] std::string_view word_of(Words words, std::int64_t number);
[[nodiscard]] std::optional<std::int64_t> number_of(Words words, std::string_view word);

// Calls visit.template operator()<T>(), T being one number in the raw_data of that TensorProto.data_type; a bool is a
// byte. False: it has none that JSON can write. (1 is FLOAT, 2 UINT8, 9 BOOL ...: kDataTypes of json_parts.cpp.)
template <typename Visit>
bool with_number_type(std::int64_t data_type, Visit visit) {
  switch (data_type) {
    case 1:
      return visit.template operator()<float>(), true;
    case 2:
    case 9:
      return visit.template operator()<std::uint8_t>(), true;
    case 3:
      return visit.template operator()<std::int8_t>(), true;
    case 4:
      return visit.template operator()<std::uint16_t>(), true;
    case 5:
      return visit.template operator()<std::int16_t>(), true;
    case 6:
      return visit.template operator()<std::int32_t>(), true;
    case 7:
      return visit.template operator()<std::int64_t>(), true;
    case 11:
      return visit.template operator()<double>(), true;
    case 12:
      return visit.template operator()<std::uint32_t>(), true;
    case 13:
      return visit.template operator()<std::uint64_t>(), true;
    default:
      return false;
  }
}

[[nodiscard]] std::string to_base64(std::string_view bytes);
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

inline constexpr std::string_view kFormat = "kinglet-onnx-json-1";
inline constexpr std::uint64_t kRawData = 9;  // TensorProto.raw_data
inline constexpr int kMostDepth = 100;

}  // namespace kinglet::engine::onnx_json
