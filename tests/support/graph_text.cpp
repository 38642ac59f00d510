// SPDX-License-Identifier: Apache-2.0
// Printing, and the seeded numbers; parsing is in graph_text_parse.cpp.
#include "tests/support/graph_text.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "engine/base/format.h"

namespace kinglet::engine {
namespace {

bool is_plain(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
           c == '/' || c == '-';
  });
}

std::string name_text(std::string_view name) {
  return is_plain(name) && name != "_" ? std::string(name) : to_text(Attribute(std::string(name)));
}

std::string tensor_text(const Tensor& tensor, const SeedNames* seeds) {
  if (seeds != nullptr) {
    const auto at = seeds->find(content_hash(tensor));
    if (at != seeds->end()) {
      return format_text("{}{}#{}", to_string(tensor.type()), to_string(tensor.shape()), at->second);
    }
  }
  return to_text(tensor);
}

std::string attribute_text(const Attribute& attribute, const SeedNames* seeds) {
  const auto* tensor = std::get_if<Tensor>(&attribute);
  return tensor == nullptr ? to_text(attribute) : tensor_text(*tensor, seeds);
}

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
      attributes += (attributes.empty() ? "" : ", ") + name_text(name) + '=' + attribute_text(value, options_.seeds);
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
  with_element(type, [&]<typename T>() {
    if constexpr (std::is_same_v<T, float>) {
      fill<T>(tensor, state, real);
    } else if constexpr (std::is_same_v<T, Half>) {
      fill<T>(tensor, state, [&](std::uint64_t bits) { return to_half(real(bits)); });
    } else if constexpr (std::is_same_v<T, bool>) {
      fill<T>(tensor, state, [](std::uint64_t bits) { return (bits >> 63U) != 0; });
    } else if constexpr (sizeof(T) == 1) {
      fill<T>(tensor, state, integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else {
      fill<T>(tensor, state, integer(-100, 100));
    }
  });
  return tensor;
}

}  // namespace kinglet::engine
