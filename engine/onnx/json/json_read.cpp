// SPDX-License-Identifier: Apache-2.0
// JSON becomes the bytes of a model, member by member; the bytes are then read like any model file.
#include <onnx/onnx.pb.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"
#include "engine/onnx/json/json.h"
#include "engine/onnx/json/json_parts.h"
#include "engine/onnx/wire/wire.h"

namespace kinglet::engine {
namespace {

using namespace onnx_json;
using onnx_format::append_field;
using onnx_format::WireField;
using Json = nlohmann::ordered_json;

std::unexpected<Error> wrong(const std::string& where, const Json& value, std::string_view expected) {
  return fail(ErrorCode::kBadData,
              format_text("is {}, expected {}",
                          printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), 60), expected),
              where);
}

// {"bits": "7fc00000"}
std::optional<std::uint64_t> bits_of(const Json& value, std::size_t digits) {
  if (!value.is_object() || value.size() != 1 || !value.contains("bits") || !value["bits"].is_string()) return {};
  const auto& text = value["bits"].get_ref<const std::string&>();
  return text.size() == digits ? parse_number<std::uint64_t>(text, 16) : std::nullopt;
}

Result<std::uint64_t> float_bits(const std::string& where, const Json& value) {
  if (const auto bits = bits_of(value, 8)) return *bits;
  if (!value.is_number()) return wrong(where, value, "a number");
  const auto number = static_cast<float>(value.get<double>());
  if (!std::isfinite(number)) return wrong(where, value, "a number that a float holds");
  return std::bit_cast<std::uint32_t>(number);
}

Result<std::uint64_t> double_bits(const std::string& where, const Json& value) {
  if (const auto bits = bits_of(value, 16)) return *bits;
  if (!value.is_number()) return wrong(where, value, "a number");
  return std::bit_cast<std::uint64_t>(value.get<double>());
}

Result<std::uint64_t> integer_bits(const std::string& where, const Json& value, Words words) {
  if (value.is_string() && words != Words::kNone) {
    const auto number = number_of(words, value.get_ref<const std::string&>());
    if (number) return static_cast<std::uint64_t>(*number);
  }
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_number_integer()) return static_cast<std::uint64_t>(value.get<std::int64_t>());
  return wrong(where, value, words == Words::kNone ? "a whole number" : "a word of onnx.proto, or a whole number");
}

template <typename T>
void store(std::uint64_t bits, std::string& out) {
  const T value = static_cast<T>(bits);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
Result<void> element_bytes(const std::string& where, const Json& value, std::string& out) {
  if constexpr (std::is_same_v<T, float>) {
    store<std::uint32_t>(KINGLET_TRY(float_bits(where, value)), out);
  } else if constexpr (std::is_same_v<T, double>) {
    store<std::uint64_t>(KINGLET_TRY(double_bits(where, value)), out);
  } else {
    const std::uint64_t bits = KINGLET_TRY(integer_bits(where, value, Words::kNone));
    constexpr unsigned kWidth = 8 * sizeof(T);
    constexpr bool kMayBeMinus = std::is_signed_v<T> && kWidth < 64;
    const std::uint64_t high = kWidth < 64 ? bits >> (kMayBeMinus ? kWidth - 1 : kWidth % 64) : 0;
    const std::uint64_t minus = kMayBeMinus ? ~std::uint64_t{0} >> (kWidth - 1) : 0;
    if (high != 0 && (minus == 0 || high != minus)) {
      return wrong(where, value, format_text("a number of {} bits", kWidth));
    }
    store<T>(bits, out);
  }
  return {};
}

template <typename T>
Result<void> elements_bytes(const std::string& where, const Json& values, std::string& out) {
  if (!values.is_array()) return wrong(where, values, "a list");
  for (std::size_t i = 0; i < values.size(); ++i) {
    KINGLET_TRY(element_bytes<T>(format_text("{}[{}]", where, i), values[i], out));
  }
  return {};
}

class Reader {
 public:
  explicit Reader(const Document* weights) : weights_(weights) {}

  Result<std::string> message(Message kind, const Json& value, const std::string& where,
                              int depth) {  // NOLINT(misc-no-recursion)
    if (!value.is_object()) return wrong(where, value, "an object");
    if (depth > kMostDepth) return fail(ErrorCode::kBadData, "is nested too deeply", where);
    std::string out;
    for (const auto& [name, member] : value.items()) {
      const std::string place = where + "." + printable(name, 60);
      if (name == "unknown") {
        KINGLET_TRY(unknown(member, place, out));
        continue;
      }
      if (kind == Message::kTensorProto &&
          (name == "values" || name == "base64" || name == "sha256" || name == "bytes")) {
        KINGLET_TRY(raw_data(value, name, place, out));
        continue;
      }
      const Field* field = find_field(kind, name);
      if (field == nullptr) return unknown_member(kind, name, where);
      KINGLET_TRY(known(*field, member, place, depth, out));
    }
    return out;
  }

 private:
  static std::unexpected<Error> unknown_member(Message kind, std::string_view name, const std::string& where) {
    std::vector<std::string_view> names;
    for (const Field& field : all_fields()) {
      if (field.message == kind) names.push_back(field.name);
    }
    const std::string_view nearest = nearest_name(name, names);
    return fail(ErrorCode::kBadData, format_text("has an unknown member \"{}\"", printable(name, 60)), where,
                nearest.empty() ? "" : format_text("did you mean \"{}\"?", nearest));
  }

  Result<void> known(const Field& field, const Json& value, const std::string& where, int depth,
                     std::string& out) {  // NOLINT(misc-no-recursion)
    if (field.times == Times::kOnce) return one(field, value, where, depth, out);
    if (!value.is_array()) return wrong(where, value, "a list");
    if (field.times == Times::kPacked) return packed(field, value, where, out);
    for (std::size_t i = 0; i < value.size(); ++i) {
      KINGLET_TRY(one(field, value[i], format_text("{}[{}]", where, i), depth, out));
    }
    return {};
  }

  Result<void> one(const Field& field, const Json& value, const std::string& where, int depth,
                   std::string& out) {  // NOLINT(misc-no-recursion)
    WireField row{.number = field.number, .type = onnx_format::kVarint, .integer = 0, .bytes = {}};
    std::string bytes;
    if (field.kind == Kind::kMessage) {
      bytes = KINGLET_TRY(message(field.child, value, where, depth + 1));
    } else if (field.kind == Kind::kText) {
      bytes = KINGLET_TRY(text(value, where));
    } else {
      row.integer = KINGLET_TRY(number(field, value, where));
      row.type = field.kind == Kind::kFloat    ? onnx_format::kFixed32
                 : field.kind == Kind::kDouble ? onnx_format::kFixed64
                                               : onnx_format::kVarint;
    }
    if (field.kind == Kind::kMessage || field.kind == Kind::kText) row.type = onnx_format::kLengthDelimited;
    row.bytes = bytes;
    append_field(out, row);
    return {};
  }

  static Result<std::uint64_t> number(const Field& field, const Json& value, const std::string& where) {
    if (field.kind == Kind::kFloat) return float_bits(where, value);
    if (field.kind == Kind::kDouble) return double_bits(where, value);
    return integer_bits(where, value, field.words);
  }

  static Result<void> packed(const Field& field, const Json& value, const std::string& where, std::string& out) {
    std::string bytes;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::uint64_t bits = KINGLET_TRY(number(field, value[i], format_text("{}[{}]", where, i)));
      if (field.kind == Kind::kFloat) {
        store<std::uint32_t>(bits, bytes);
      } else if (field.kind == Kind::kDouble) {
        store<std::uint64_t>(bits, bytes);
      } else {
        onnx_format::append_varint(bytes, bits);
      }
    }
    append_field(out, {.number = field.number, .type = onnx_format::kLengthDelimited, .integer = 0, .bytes = bytes});
    return {};
  }

  static Result<std::string> text(const Json& value, const std::string& where) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_object() && value.size() == 1 && value.contains("base64")) return base64(value["base64"], where);
    return wrong(where, value, "text");
  }

  static Result<std::string> base64(const Json& value, const std::string& where) {
    if (value.is_string()) {
      if (auto bytes = from_base64(value.get_ref<const std::string&>())) return std::move(*bytes);
    }
    return wrong(where, value, "base64");
  }

  static Result<void> unknown(const Json& rows, const std::string& where, std::string& out) {
    if (!rows.is_array()) return wrong(where, rows, "a list");
    for (const Json& row : rows) {
      const bool whole = row.is_object() && row.value("number", Json()).is_number_unsigned() &&
                         row.value("wire_type", Json()).is_number_unsigned() &&
                         (row.value("value", Json()).is_number_unsigned() || row.value("base64", Json()).is_string());
      if (!whole) return wrong(where, row, "number, wire_type, and value or base64");
      const auto type = row["wire_type"].get<std::uint64_t>();
      const bool delimited = type == onnx_format::kLengthDelimited;
      const std::uint64_t number = row["number"].get<std::uint64_t>();
      if ((type != 0 && type != 1 && type != 2 && type != 5) || delimited != row.contains("base64") || number == 0 ||
          number >= 1U << 29U) {
        return wrong(where, row, "a field of protobuf");
      }
      const std::string bytes = delimited ? KINGLET_TRY(base64(row["base64"], where)) : std::string();
      append_field(out, {.number = number,
                         .type = static_cast<onnx_format::WireType>(type),
                         .integer = delimited ? 0 : row["value"].get<std::uint64_t>(),
                         .bytes = bytes});
    }
    return {};
  }

  // The numbers of a tensor, in one of three forms. `name` is the member that is looked at.
  Result<void> raw_data(const Json& tensor, std::string_view name, const std::string& where, std::string& out) {
    if (name == "bytes") return {};  // for people; sha256 stands with it
    std::string bytes;
    if (name == "base64") {
      bytes = KINGLET_TRY(base64(tensor["base64"], where));
    } else if (name == "sha256") {
      bytes = KINGLET_TRY(find_weights(tensor, where));
    } else {
      const Json type = tensor.value("data_type", Json());
      const auto number = type.is_string() ? number_of(Words::kDataType, type.get_ref<const std::string&>()).value_or(0)
                          : type.is_number_integer() ? type.get<std::int64_t>()
                                                     : 0;
      Result<void> read;
      const auto take = [&]<typename T>() { read = elements_bytes<T>(where, tensor["values"], bytes); };
      if (!with_number_type(number, take)) {
        return wrong(where, type, "a data_type whose values can be written as numbers");
      }
      if (!read) return read;
    }
    append_field(out, {.number = kRawData, .type = onnx_format::kLengthDelimited, .integer = 0, .bytes = bytes});
    return {};
  }

  Result<std::string> find_weights(const Json& tensor, const std::string& where) {
    const Json& hash = tensor["sha256"];
    if (!hash.is_string()) return wrong(where, hash, "a SHA-256");
    if (weights_ == nullptr) {
      return fail(ErrorCode::kBadData, "names numbers that the JSON does not hold", where,
                  "--weights-from ORIGINAL.onnx, or write the JSON with --weights inline");
    }
    if (by_hash_.empty()) KINGLET_TRY(index_weights());
    const auto found = by_hash_.find(hash.get_ref<const std::string&>());
    if (found != by_hash_.end()) return weights_->bytes_of(*found->second);
    return fail(ErrorCode::kBadData, "names numbers that are not in the file given for them", where,
                "give the file the JSON was made from");
  }

  Result<void> index_weights() {
    const auto add = [&](const ::onnx::TensorProto& proto) -> Result<void> {
      if (!proto.has_raw_data()) return {};
      by_hash_.emplace(sha256_hex(KINGLET_TRY(weights_->bytes_of(proto))), &proto);
      return {};
    };
    return for_each_tensor(weights_->model().graph(), add);
  }

  // Of the graph and its sub-graphs: those the document has handles for.
  template <typename Visit>
  static Result<void> for_each_tensor(const ::onnx::GraphProto& graph,
                                      const Visit& visit) {  // NOLINT(misc-no-recursion)
    for (const auto& proto : graph.initializer()) KINGLET_TRY(visit(proto));
    for (const auto& node : graph.node()) {
      for (const auto& attribute : node.attribute()) {
        if (attribute.has_t()) KINGLET_TRY(visit(attribute.t()));
        if (attribute.has_g()) KINGLET_TRY(for_each_tensor(attribute.g(), visit));
      }
    }
    return {};
  }

  const Document* weights_;
  std::unordered_map<std::string, const ::onnx::TensorProto*> by_hash_;
};

Result<Json> parse(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(text.size(), error.byte));
    const auto line = 1 + std::ranges::count(before, '\n');
    return fail(ErrorCode::kBadData, "is no JSON", format_text("line {}", line));
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::kBadData, "is no JSON: " + printable(error.what()));
  }
}

}  // namespace

Result<Document> from_json(std::string_view json, const Document* weights_from) {
  const Json root = KINGLET_TRY(parse(json));
  if (!root.is_object() || root.value("format", Json()) != kFormat || !root.contains("model")) {
    return fail(ErrorCode::kBadData, format_text("is JSON, but not a model as JSON (format {})", kFormat), {},
                "kinglet convert MODEL.onnx -o MODEL.json --to json writes one");
  }
  std::string bytes = KINGLET_TRY(Reader(weights_from).message(Message::kModelProto, root["model"], "model", 0));
  return Document::from_bytes(std::move(bytes));
}

}  // namespace kinglet::engine
