// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/text.h"

#include "engine/base/format.h"

namespace kinglet::engine {
namespace {

constexpr std::int64_t kLiteralLimit = 16;

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Shortest text that reads back as the same float; always with a point, exponent or name, so that it is not an integer.
std::string float_text(float value) {
  std::string text = format_text("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

template <typename T, typename Print>
std::string join(std::span<const T> items, Print print) {
  std::string out;
  for (const T& item : items) {
    if (!out.empty()) out += ',';
    out += print(item);
  }
  return out;
}

// The sign makes a number of bool and of 8 bits.
std::string numbers_text(const Tensor& tensor) {
  return with_element(tensor.type(), [&]<typename T>() {
    return join(tensor.data<T>(), [](T value) { return format_text("{}", +widened(value)); });
  });
}

std::string type_text(const Tensor& tensor) {
  return std::string(to_string(tensor.type())) + to_string(tensor.shape());
}

struct AttributeText {
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return float_text(value); }
  std::string operator()(const std::string& value) const { return quote(value); }
  std::string operator()(const Tensor& value) const { return to_text(value); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    return '[' + join(std::span<const T>(values), *this) + ']';
  }
};

}  // namespace

std::string to_text(const Attribute& attribute) { return std::visit(AttributeText{}, attribute); }

std::string to_text(const Tensor& tensor) {
  if (tensor.element_count() <= kLiteralLimit) return type_text(tensor) + '{' + numbers_text(tensor) + '}';
  return type_text(tensor) + '#' + content_hash(tensor);
}

std::string content_hash(const Tensor& tensor) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a, 64 bits
  const auto add = [&hash](std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001B3ULL;
  };
  const std::string type = type_text(tensor);
  add(std::as_bytes(std::span(type)));
  add(tensor.bytes());
  return format_text("{:08x}", (hash ^ (hash >> 32U)) & 0xFFFFFFFFU);
}

}  // namespace kinglet::engine
