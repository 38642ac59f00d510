// SPDX-License-Identifier: Apache-2.0
// The model's own bytes are walked by the table of fields, so that nothing can be forgotten.
#include <onnx/onnx.pb.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/onnx/json/json.h"
#include "engine/onnx/json/json_parts.h"
#include "engine/onnx/wire/wire.h"

namespace kinglet::engine {
namespace {

using namespace onnx_json;
using onnx_format::WireField;
using Json = nlohmann::ordered_json;

constexpr std::size_t kFew = 64;
constexpr std::size_t kManyInline = 4096;

bool is_utf8(std::string_view text) {
  const Json probe = std::string(text);
  try {
    static_cast<void>(probe.dump());
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

Json text_json(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  return {{"base64", to_base64(bytes)}};
}

// The shortest decimals that read back as the same float.
Json float_json(float value) {
  if (!std::isfinite(value)) return {{"bits", format_text("{:08x}", std::bit_cast<std::uint32_t>(value))}};
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  double read = 0;
  std::from_chars(buffer, end, read);
  const bool same = std::bit_cast<std::uint32_t>(static_cast<float>(read)) == std::bit_cast<std::uint32_t>(value);
  return same ? read : static_cast<double>(value);
}

Json double_json(double value) {
  if (!std::isfinite(value)) return {{"bits", format_text("{:016x}", std::bit_cast<std::uint64_t>(value))}};
  return value;
}

template <typename T>
T load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <typename T>
Json element_json(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return float_json(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return double_json(value);
  } else {
    return value;
  }
}

Json number_json(const Field& field, std::uint64_t bits) {
  switch (field.kind) {
    case Kind::kFloat:
      return float_json(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case Kind::kDouble:
      return double_json(std::bit_cast<double>(bits));
    case Kind::kUint:
      return bits;
    default: {
      const auto number = static_cast<std::int64_t>(bits);
      const std::string_view word = word_of(field.words, number);
      return word.empty() ? Json(number) : Json(word);
    }
  }
}

// Is a tensor in this place one whose raw_data is a handle of the document?
Message reached_child(Message parent, const Field& field) {
  const bool leads = (parent == Message::kModelProto && field.number == 7) ||
                     (parent == Message::kGraphProto && (field.number == 1 || field.number == 5)) ||
                     (parent == Message::kNodeProto && field.number == 5) ||
                     (parent == Message::kAttributeProto && (field.number == 5 || field.number == 6));
  return leads ? field.child : Message::kNothing;
}

class Writer {
 public:
  Writer(const Document& document, JsonWeights weights) : document_(document), weights_(weights) {}

  Result<Json> message(Message kind, std::string_view bytes, bool reached) {  // NOLINT(misc-no-recursion): by protobuf
    Json out = Json::object();
    const std::string_view whole = bytes;
    while (const auto row = onnx_format::take_field(bytes)) {
      const Field* field = find_field(kind, row->number);
      if (field == nullptr || !fits(*field, *row)) {
        out["unknown"].push_back(unknown(*row));
      } else if (kind == Message::kTensorProto && field->number == kRawData) {
        KINGLET_TRY(raw_data(whole, *row, reached, out));
      } else {
        KINGLET_TRY(known(*field, *row, reached && reached_child(kind, *field) != Message::kNothing, out));
      }
    }
    return out;
  }

 private:
  static bool fits(const Field& field, const WireField& row) {
    const bool delimited = row.type == onnx_format::kLengthDelimited;
    if (field.kind == Kind::kText || field.kind == Kind::kMessage) return delimited;
    if (delimited) return field.times != Times::kOnce;  // packed
    return row.type == wire_type(field);
  }
  static onnx_format::WireType wire_type(const Field& field) {
    return field.kind == Kind::kFloat    ? onnx_format::kFixed32
           : field.kind == Kind::kDouble ? onnx_format::kFixed64
                                         : onnx_format::kVarint;
  }

  static Json unknown(const WireField& row) {
    Json out{{"number", row.number}, {"wire_type", static_cast<int>(row.type)}};
    if (row.type == onnx_format::kLengthDelimited) {
      out["base64"] = to_base64(row.bytes);
    } else {
      out["value"] = row.integer;
    }
    return out;
  }

  Result<void> known(const Field& field, const WireField& row, bool reached, Json& out) {  // NOLINT(misc-no-recursion)
    const std::string name(field.name);
    if (row.type == onnx_format::kLengthDelimited && field.kind != Kind::kText && field.kind != Kind::kMessage) {
      unpack(field, row.bytes, out[name]);
      return {};
    }
    Json value = field.kind == Kind::kText      ? text_json(row.bytes)
                 : field.kind == Kind::kMessage ? KINGLET_TRY(message(field.child, row.bytes, reached))
                                                : number_json(field, row.integer);
    if (field.times == Times::kOnce) {
      out[name] = std::move(value);
    } else {
      out[name].push_back(std::move(value));
    }
    return {};
  }

  static void unpack(const Field& field, std::string_view bytes, Json& out) {
    if (out.is_null()) out = Json::array();
    const std::size_t size = field.kind == Kind::kFloat ? 4 : field.kind == Kind::kDouble ? 8 : 0;
    if (size > 0) {
      for (; bytes.size() >= size; bytes.remove_prefix(size)) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, bytes.data(), size);
        out.push_back(number_json(field, bits));
      }
      return;
    }
    // A varint after a tag of its own is a field: the tag is added to read it as one.
    while (!bytes.empty()) {
      std::size_t length = 1;
      while (length < bytes.size() && (static_cast<std::uint8_t>(bytes[length - 1]) & 0x80U) != 0) ++length;
      const std::string one = '\x08' + std::string(bytes.substr(0, length));
      std::string_view rest = one;
      const auto row = onnx_format::take_field(rest);
      if (!row) return;
      out.push_back(number_json(field, row->integer));
      bytes.remove_prefix(length);
    }
  }

  Result<void> raw_data(std::string_view tensor, const WireField& row, bool reached, Json& out) {
    if (!reached) {
      out["base64"] = to_base64(row.bytes);
      return {};
    }
    ::onnx::TensorProto proto;
    if (!proto.ParseFromString(std::string(tensor))) return fail(ErrorCode::kInternal, "a tensor does not parse");
    const std::uint64_t size = document_.byte_count(proto);
    const std::size_t most = weights_ == JsonWeights::kInline ? kManyInline : kFew;
    const std::string bytes = KINGLET_TRY(document_.bytes_of(proto));
    with_number_type(proto.data_type(), [&]<typename T>() {
      if (size % sizeof(T) != 0 || size / sizeof(T) > most) return;
      Json& values = out["values"] = Json::array();
      for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
        values.push_back(element_json(load<T>(bytes.data() + at)));
      }
    });
    if (out.contains("values")) return {};
    if (weights_ == JsonWeights::kInline || size <= kFew * sizeof(float)) {
      out["base64"] = to_base64(bytes);
    } else {
      out["sha256"] = sha256_hex(bytes);
      out["bytes"] = size;
    }
    return {};
  }

  const Document& document_;
  JsonWeights weights_;
};

}  // namespace

bool looks_like_json(std::string_view start) {
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && start[first] == '{';
}

Result<std::string> to_json(const Document& document, JsonWeights weights) {
  Writer writer(document, weights);
  Json root{{"format", kFormat}, {"weights", weights == JsonWeights::kInline ? "inline" : "hash"}};
  const std::string skeleton = document.model().SerializeAsString();
  root["model"] = KINGLET_TRY(writer.message(Message::kModelProto, skeleton, true));
  return root.dump(1) + "\n";
}

}  // namespace kinglet::engine
