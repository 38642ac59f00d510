// SPDX-License-Identifier: Apache-2.0
#include "engine/onnx/json/json_parts.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::engine::onnx_json {
namespace {

constexpr Field kFields[] = {
#define KINGLET_FIELD(message, number, name, kind, times, child, words) \
  {Message::message, number, name, Kind::kind, Times::times, Message::child, Words::words},
#include "engine/onnx/json/json_fields.def"
#undef KINGLET_FIELD
};

struct Word {
  std::int64_t number;
  std::string_view text;
};
constexpr Word kAttributeTypes[] = {
    {1, "FLOAT"},       {2, "INT"},         {3, "STRING"},         {4, "TENSOR"},
    {5, "GRAPH"},       {6, "FLOATS"},      {7, "INTS"},           {8, "STRINGS"},
    {9, "TENSORS"},     {10, "GRAPHS"},     {11, "SPARSE_TENSOR"}, {12, "SPARSE_TENSORS"},
    {13, "TYPE_PROTO"}, {14, "TYPE_PROTOS"}};
constexpr Word kDataTypes[] = {{1, "FLOAT"},       {2, "UINT8"},           {3, "INT8"},
                               {4, "UINT16"},      {5, "INT16"},           {6, "INT32"},
                               {7, "INT64"},       {8, "STRING"},          {9, "BOOL"},
                               {10, "FLOAT16"},    {11, "DOUBLE"},         {12, "UINT32"},
                               {13, "UINT64"},     {14, "COMPLEX64"},      {15, "COMPLEX128"},
                               {16, "BFLOAT16"},   {17, "FLOAT8E4M3FN"},   {18, "FLOAT8E4M3FNUZ"},
                               {19, "FLOAT8E5M2"}, {20, "FLOAT8E5M2FNUZ"}, {21, "UINT4"},
                               {22, "INT4"}};
constexpr Word kDataLocations[] = {{0, "DEFAULT"}, {1, "EXTERNAL"}};

std::span<const Word> words_of(Words words) {
  switch (words) {
    case Words::kAttributeType:
      return kAttributeTypes;
    case Words::kDataType:
      return kDataTypes;
    case Words::kDataLocation:
      return kDataLocations;
    case Words::kNone:
      break;
  }
  return {};
}

}  // namespace

std::span<const Field> all_fields() { return kFields; }

const Field* find_field(Message message, std::uint64_t number) {
  const auto* at = std::ranges::find_if(
      kFields, [&](const Field& field) { return field.message == message && field.number == number; });
  return at == std::ranges::end(kFields) ? nullptr : at;
}

const Field* find_field(Message message, std::string_view name) {
  const auto* at =
      std::ranges::find_if(kFields, [&](const Field& field) { return field.message == message && field.name == name; });
  return at == std::ranges::end(kFields) ? nullptr : at;
}

std::string_view word_of(Words words, std::int64_t number) {
  const auto rows = words_of(words);
  const auto at = std::ranges::find(rows, number, &Word::number);
  return at == rows.end() ? std::string_view() : at->text;
}

std::optional<std::int64_t> number_of(Words words, std::string_view word) {
  const auto rows = words_of(words);
  const auto at = std::ranges::find(rows, word, &Word::text);
  return at == rows.end() ? std::nullopt : std::optional(at->number);
}

std::string to_base64(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0 || text.size() > 0x7FFFFFFF) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  out.resize(static_cast<std::size_t>(size) - padding);
  // Only what to_base64 would write: no white space, no bits that mean nothing.
  if (to_base64(out) != text) return std::nullopt;
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  KINGLET_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += format_text("{:02x}", digest[i]);
  return text;
}

}  // namespace kinglet::engine::onnx_json
