// SPDX-License-Identifier: Apache-2.0
// Printing, and the seeded numbers; parsing is in text_parse.cpp.
#include "engine/graph/text.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/graph/text_hash.h"

namespace kinglet::engine {
namespace {

constexpr std::int64_t kLiteralLimit = 16;

bool is_plain(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
           c == '/' || c == '-';
  });
}

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

std::string name_text(std::string_view name) { return is_plain(name) && name != "_" ? std::string(name) : quote(name); }

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

template <typename T>
std::string integers_text(const Tensor& tensor) {
  return join(tensor.data<T>(), [](T value) { return std::to_string(value); });
}

std::string numbers_text(const Tensor& tensor) {
  switch (tensor.type()) {
    case DataType::kF32:
      return join(tensor.data<float>(), [](float value) { return format_text("{}", value); });
    case DataType::kF16:
      return join(tensor.data<Half>(), [](Half value) { return format_text("{}", to_float(value)); });
    case DataType::kI64:
      return integers_text<std::int64_t>(tensor);
    case DataType::kI32:
      return integers_text<std::int32_t>(tensor);
    case DataType::kI8:
      return integers_text<std::int8_t>(tensor);
    case DataType::kU8:
      return integers_text<std::uint8_t>(tensor);
    case DataType::kBool:
      return join(tensor.data<bool>(), [](bool value) { return std::string(value ? "1" : "0"); });
  }
  return {};
}

std::string type_text(DataType type, std::span<const Dim> shape) {
  return std::string(to_string(type)) + to_string(shape);
}

std::string tensor_text(const Tensor& tensor, const SeedNames* seeds) {
  const std::string type = type_text(tensor.type(), tensor.shape());
  if (seeds != nullptr) {
    const auto at = seeds->find(content_hash(tensor));
    if (at != seeds->end()) return type + '#' + at->second;
  }
  if (tensor.element_count() <= kLiteralLimit) return type + '{' + numbers_text(tensor) + '}';
  return type + '#' + content_hash(tensor);
}

struct AttributeText {
  const SeedNames* seeds;
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return float_text(value); }
  std::string operator()(const std::string& value) const { return quote(value); }
  std::string operator()(const Tensor& value) const { return tensor_text(value, seeds); }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    return '[' + join(std::span<const T>(values), *this) + ']';
  }
};

class Printer {
 public:
  Printer(const Graph& graph, const TextOptions& options) : graph_(graph), options_(options) {
    std::size_t number = 1;
    for (const NodeId id : graph.nodes()) {
      for (const ValueId output : graph.node(id).outputs) {
        if (output == kNoValue) continue;
        while (clashes(std::to_string(number))) ++number;
        numbers_[std::to_underlying(output)] = number++;
      }
    }
  }

  std::string input_line(const GraphInput& input) const {
    const Value& value = graph_.value(input.value);
    std::string dims;
    if (value.shape) {
      dims = "[";
      for (std::size_t i = 0; i < value.shape->size(); ++i) {
        if (i > 0) dims += ',';
        const Dim dim = (*value.shape)[i];
        const bool named = dim == kUnknownDim && i < input.dim_names.size() && !input.dim_names[i].empty();
        dims += named ? name_text(input.dim_names[i]) : dim == kUnknownDim ? "?" : std::to_string(dim);
      }
      dims += ']';
    }
    return format_text("{} = input {}{}", operand(input.value), to_string(value.type), dims);
  }

  std::string node_line(NodeId id) const {
    const Node& node = graph_.node(id);
    std::string line;
    for (const ValueId output : node.outputs) {
      if (!line.empty()) line += ", ";
      line += operand(output);
      if (options_.types && output != kNoValue) line += annotation(graph_.value(output));
    }
    if (line.empty()) line = "_";
    line += " = ";
    if (!node.domain.empty()) line += node.domain + "::";
    line += node.op_type + '(';
    for (std::size_t i = 0; i < node.inputs.size(); ++i) line += (i > 0 ? ", " : "") + operand(node.inputs[i]);
    line += ')';
    if (node.attributes.size() == 0) return line;
    std::string attributes;
    for (const auto& [name, value] : node.attributes) {
      attributes +=
          (attributes.empty() ? "" : ", ") + name_text(name) + '=' + std::visit(AttributeText{options_.seeds}, value);
    }
    return line + " {" + attributes + '}';
  }

  std::string operand(ValueId id) const {
    if (id == kNoValue) return "_";
    const Value& value = graph_.value(id);
    if (value.constant) return name_text(value.name) + ':' + tensor_text(*value.constant, options_.seeds);
    const auto at = numbers_.find(std::to_underlying(id));
    return '%' + (at == numbers_.end() ? name_text(value.name) : std::to_string(at->second));
  }

 private:
  bool clashes(std::string_view number) const {
    const auto value = graph_.find_value(number);
    return value && graph_.is_input(*value);
  }
  static std::string annotation(const Value& value) {
    return format_text(":{}{}", to_string(value.type), value.shape ? to_string(*value.shape) : "");
  }

  const Graph& graph_;
  TextOptions options_;
  std::unordered_map<std::uint32_t, std::size_t> numbers_;
};

std::uint64_t next_random(std::uint64_t& state) {  // SplitMix64 (Steele, Lea, Flood 2014)
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

template <typename T, typename Draw>
void fill(Tensor& tensor, std::uint64_t state, Draw draw) {
  for (T& value : tensor.mutable_data<T>()) value = static_cast<T>(draw(next_random(state)));
}

}  // namespace

std::string to_text(const Graph& graph, const TextOptions& options) {
  const Printer printer(graph, options);
  std::string text;
  for (const GraphInput& input : graph.inputs()) text += printer.input_line(input) + '\n';
  for (const NodeId id : graph.nodes()) text += printer.node_line(id) + '\n';
  std::string outputs;
  for (const ValueId output : graph.outputs()) outputs += (outputs.empty() ? "" : ", ") + printer.operand(output);
  return text + "output " + outputs + '\n';
}

std::string to_text(const Graph& graph, NodeId id) { return Printer(graph, {}).node_line(id); }

std::string to_text(const Attribute& attribute) { return std::visit(AttributeText{nullptr}, attribute); }

std::string content_hash(const Tensor& tensor) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a, 64 bits
  const auto add = [&hash](std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001B3ULL;
  };
  const std::string type = type_text(tensor.type(), tensor.shape());
  add(std::as_bytes(std::span(type)));
  add(tensor.bytes());
  return format_text("{:08x}", (hash ^ (hash >> 32U)) & 0xFFFFFFFFU);
}

Tensor seeded_tensor(DataType type, Shape shape, std::string_view seed, bool positive) {
  std::uint64_t state = 0x5851F42D4C957F2DULL;
  for (const char c : seed) state = (state ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
  Tensor tensor(type, std::move(shape));
  const auto real = [&](std::uint64_t bits) {
    const float unit = static_cast<float>(bits >> 40U) / 16777216.0F;
    return positive ? unit + 0.5F : unit * 2 - 1;
  };
  const auto integer = [&](std::int64_t low, std::int64_t high) {
    const std::int64_t first = positive ? 1 : low;
    return [first, count = static_cast<std::uint64_t>(high - first + 1)](std::uint64_t bits) {
      return first + static_cast<std::int64_t>((bits >> 11U) % count);
    };
  };
  switch (type) {
    case DataType::kF32:
      fill<float>(tensor, state, real);
      break;
    case DataType::kF16:
      fill<Half>(tensor, state, [&](std::uint64_t bits) { return to_half(real(bits)); });
      break;
    case DataType::kI64:
      fill<std::int64_t>(tensor, state, integer(-100, 100));
      break;
    case DataType::kI32:
      fill<std::int32_t>(tensor, state, integer(-100, 100));
      break;
    case DataType::kI8:
      fill<std::int8_t>(tensor, state, integer(-128, 127));
      break;
    case DataType::kU8:
      fill<std::uint8_t>(tensor, state, integer(0, 255));
      break;
    case DataType::kBool:
      fill<bool>(tensor, state, [](std::uint64_t bits) { return (bits >> 63U) != 0; });
      break;
  }
  return tensor;
}

}  // namespace kinglet::engine
