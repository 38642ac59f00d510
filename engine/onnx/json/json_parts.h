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

// Numbers of the raw_data of one TensorProto.data_type.
enum class Element : std::uint8_t { kNone, kF32, kF64, kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64 };
[[nodiscard]] Element element_of(std::int64_t data_type);
[[nodiscard]] std::size_t size_of(Element element);

[[nodiscard]] std::string to_base64(std::string_view bytes);
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

inline constexpr std::string_view kFormat = "kinglet-onnx-json-1";
inline constexpr std::uint64_t kRawData = 9;  // TensorProto.raw_data
inline constexpr int kMostDepth = 100;

}  // namespace kinglet::engine::onnx_json
