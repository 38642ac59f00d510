// SPDX-License-Identifier: Apache-2.0
// The reading half of the text form of graphs (graph_text.h): a line-wise recursive-descent parser.
#include <cmath>
#include <limits>

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"
#include "engine/graph/float16.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

constexpr std::int64_t kElementLimit = 1 << 24;

bool is_name_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
         c == '/' || c == '-';
}

// A type with or without dimensions; names of free dimensions beside.
struct TypeText {
  DataType type = DataType::kF32;
  std::optional<Shape> shape;
  std::vector<std::string> dim_names;
};

// One line of text and how far it has been read.
class Cursor {
 public:
  Cursor(std::string_view line, std::size_t number) : rest_(line), number_(number) {}

  [[nodiscard]] std::unexpected<Error> expected(std::string_view what) const {
    return fail(ErrorCode::kBadData, format_text("expected {} at \"{}\"", what, printable(rest_, 40)),
                format_text("line {}", number_));
  }
  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  [[nodiscard]] bool at(std::string_view token) {
    skip_space();
    return rest_.starts_with(token);
  }
  [[nodiscard]] Result<void> need(std::string_view token) {
    if (take(token)) return {};
    return expected(format_text("'{}'", token));
  }
  [[nodiscard]] bool done() {
    skip_space();
    return rest_.empty();
  }
  std::string_view word() {  // may be empty
    skip_space();
    std::size_t length = 0;
    while (length < rest_.size() && is_name_char(rest_[length])) ++length;
    const std::string_view out = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return out;
  }
  // A run of characters a number may have.
  std::string_view number() {
    skip_space();
    const std::size_t length =
        std::min(rest_.find_first_not_of("+-.0123456789abcdefghijklmnopqrstuvwxyz"), rest_.size());
    const std::string_view out = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return out;
  }
  [[nodiscard]] Result<std::string> quoted() {
    KINGLET_TRY(need("\""));
    std::string out;
    while (!rest_.empty() && rest_.front() != '"') {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\' && !rest_.empty()) {
        c = rest_.front() == 'n' ? '\n' : rest_.front();
        rest_.remove_prefix(1);
      }
      out += c;
    }
    KINGLET_TRY(need("\""));
    return out;
  }
  [[nodiscard]] Result<std::string> name(std::string_view what) {
    if (at("\"")) return quoted();
    const std::string_view plain = word();
    if (plain.empty()) return expected(what);
    return std::string(plain);
  }

 private:
  std::string_view rest_;
  std::size_t number_;
};

template <typename T>
std::optional<T> signed_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number<T>(text);
}

bool looks_real(std::string_view text) { return text.find_first_of(".en") != std::string_view::npos; }

Result<DataType> parse_type(Cursor& cursor) {
  if (const auto type = data_type_of(cursor.word())) return *type;
  return cursor.expected("a type such as f32");
}

Result<TypeText> parse_type_text(Cursor& cursor) {
  TypeText out;
  out.type = KINGLET_TRY(parse_type(cursor));
  if (!cursor.take("[")) return out;
  out.shape.emplace();
  while (!cursor.take("]")) {
    if (!out.shape->empty()) KINGLET_TRY(cursor.need(","));
    if (cursor.take("?")) {
      out.shape->push_back(kUnknownDim);
      out.dim_names.emplace_back();
      continue;
    }
    const std::string name = KINGLET_TRY(cursor.name("a dimension"));
    const std::optional<Dim> dim = signed_number<Dim>(name);
    if (dim && *dim < 0) return cursor.expected("a dimension of 0 or more before");
    out.shape->push_back(dim.value_or(kUnknownDim));
    out.dim_names.push_back(dim ? std::string() : name);
  }
  return out;
}

template <typename Stored>
Result<void> parse_elements(Cursor& cursor, Tensor& tensor) {
  // As what it is written: f16 as a float, bool as 0 or 1.
  using Wide = decltype(widened(Stored{}));
  using T = std::conditional_t<std::is_same_v<Wide, bool>, std::uint8_t, Wide>;
  bool first = true;
  for (Stored& element : tensor.mutable_data<Stored>()) {
    if (!first) KINGLET_TRY(cursor.need(","));
    first = false;
    const std::optional<T> value = signed_number<T>(cursor.number());
    if (!value) return cursor.expected("a number that fits the type before");
    if constexpr (std::is_same_v<Stored, Half>) {
      element = to_half(*value);
    } else {
      element = static_cast<Stored>(*value);
    }
  }
  return {};
}

Result<void> parse_numbers(Cursor& cursor, Tensor& tensor) {
  return with_element(tensor.type(), [&]<typename T>() { return parse_elements<T>(cursor, tensor); });
}

// f32[2]{1,2} or f32[2]#seed
Result<Tensor> parse_tensor(Cursor& cursor, SeedNames& seeds) {
  const TypeText type = KINGLET_TRY(parse_type_text(cursor));
  if (!type.shape || !is_static(*type.shape)) return cursor.expected("a constant's fixed shape before");
  const std::optional<std::int64_t> count = element_count(*type.shape);
  if (!count || *count > kElementLimit) return cursor.expected("at most 16777216 elements before");
  if (cursor.take("{")) {
    Tensor tensor(type.type, *type.shape);
    KINGLET_TRY(parse_numbers(cursor, tensor));
    KINGLET_TRY(cursor.need("}"));
    return tensor;
  }
  KINGLET_TRY(cursor.need("#"));
  const bool positive = cursor.take("+");
  const std::string_view seed = cursor.word();
  if (seed.empty()) return cursor.expected("a seed");
  Tensor tensor = seeded_tensor(type.type, *type.shape, seed, positive);
  seeds.emplace(content_hash(tensor), (positive ? "+" : "") + std::string(seed));
  return tensor;
}

template <typename T>
Result<Attribute> to_list(Cursor& cursor, std::span<const std::string> texts) {
  std::vector<T> values;
  for (const std::string& text : texts) {
    const std::optional<T> value = signed_number<T>(text);
    if (!value) return cursor.expected("numbers of one kind before");
    values.push_back(*value);
  }
  return Attribute(std::move(values));
}

Result<Attribute> parse_list(Cursor& cursor) {
  std::vector<std::string> texts;
  const bool strings = cursor.at("\"");
  bool reals = false;
  while (!cursor.take("]")) {
    if (!texts.empty()) KINGLET_TRY(cursor.need(","));
    texts.push_back(strings ? KINGLET_TRY(cursor.quoted()) : std::string(cursor.number()));
    reals = reals || looks_real(texts.back());
  }
  if (strings) return Attribute(std::move(texts));
  return reals ? to_list<float>(cursor, texts) : to_list<std::int64_t>(cursor, texts);
}

Result<Attribute> parse_attribute(Cursor& cursor, SeedNames& seeds) {
  if (cursor.at("\"")) return Attribute(KINGLET_TRY(cursor.quoted()));
  if (cursor.take("[")) return parse_list(cursor);
  Cursor ahead = cursor;
  if (const auto type = parse_type(ahead); type && ahead.at("["))
    return Attribute(KINGLET_TRY(parse_tensor(cursor, seeds)));
  const std::string_view text = cursor.number();
  if (!looks_real(text)) {
    if (const auto integer = signed_number<std::int64_t>(text)) return Attribute(*integer);
  } else if (const auto real = signed_number<float>(text)) {
    return Attribute(*real);
  }
  return cursor.expected("an attribute's value before");
}

class Parser {
 public:
  Result<void> parse_line(Cursor cursor) {
    if (cursor.done() || cursor.at("//")) return {};
    if (cursor.take("output ")) return parse_outputs(cursor);
    Cursor ahead = cursor;
    if (ahead.take("%")) {
      if (const auto name = ahead.name("a name"); name && ahead.take("=") && ahead.take("input ")) {
        return parse_input(ahead, *name);
      }
    }
    return parse_node(cursor);
  }
  ParsedGraph take() { return std::move(out_); }

 private:
  Graph& graph() { return out_.graph; }

  Result<void> parse_input(Cursor& cursor, const std::string& name) {
    if (graph().find_value(name)) return cursor.expected("a new name before");
    TypeText type = KINGLET_TRY(parse_type_text(cursor));
    graph().add_input(name, type.type, std::move(type.shape), std::move(type.dim_names));
    return need_end(cursor);
  }

  Result<void> parse_outputs(Cursor& cursor) {
    do {
      const ValueId id = KINGLET_TRY(parse_operand(cursor));
      if (id == kNoValue || graph().is_output(id)) return cursor.expected("another output before");
      graph().add_output(id);
    } while (cursor.take(","));
    return need_end(cursor);
  }

  Result<void> parse_node(Cursor& cursor) {
    struct Made {
      std::string name;
      TypeText type;
    };
    std::vector<std::optional<Made>> made;
    do {
      if (cursor.take("_")) {
        made.emplace_back();
        continue;
      }
      KINGLET_TRY(cursor.need("%"));
      Made value{.name = KINGLET_TRY(cursor.name("a name")), .type = {}};
      if (cursor.take(":")) value.type = KINGLET_TRY(parse_type_text(cursor));
      made.emplace_back(std::move(value));
    } while (cursor.take(","));
    KINGLET_TRY(cursor.need("="));
    Node node = KINGLET_TRY(parse_call(cursor));
    for (std::optional<Made>& value : made) {
      if (value && graph().find_value(value->name))
        return cursor.expected(format_text("\"{}\" to be new", value->name));
      node.outputs.push_back(value ? graph().add_value(value->name, value->type.type, value->type.shape) : kNoValue);
    }
    graph().add_node(std::move(node));
    return {};
  }

  Result<Node> parse_call(Cursor& cursor) {
    Node node;
    node.op_type = KINGLET_TRY(cursor.name("an operator"));
    if (cursor.take("::")) {
      node.domain = std::exchange(node.op_type, KINGLET_TRY(cursor.name("an operator")));
    }
    KINGLET_TRY(cursor.need("("));
    while (!cursor.take(")")) {
      if (!node.inputs.empty()) KINGLET_TRY(cursor.need(","));
      node.inputs.push_back(KINGLET_TRY(parse_operand(cursor)));
    }
    if (cursor.take("{")) {
      while (!cursor.take("}")) {
        if (node.attributes.size() > 0) KINGLET_TRY(cursor.need(","));
        std::string name = KINGLET_TRY(cursor.name("an attribute"));
        KINGLET_TRY(cursor.need("="));
        node.attributes.set(std::move(name), KINGLET_TRY(parse_attribute(cursor, out_.seeds)));
      }
    }
    KINGLET_TRY(need_end(cursor));
    return node;
  }

  Result<ValueId> parse_operand(Cursor& cursor) {
    const bool computed = cursor.take("%");
    const bool bare = !cursor.at("\"");
    const std::string name = KINGLET_TRY(cursor.name("a value"));
    if (!computed && bare && name == "_") return kNoValue;
    const std::optional<ValueId> known = graph().find_value(name);
    if (computed || !cursor.take(":")) {
      if (known && computed == (graph().constant(*known) == nullptr)) return *known;
      return cursor.expected(format_text("\"{}\" to be made before it is read", name));
    }
    Tensor tensor = KINGLET_TRY(parse_tensor(cursor, out_.seeds));
    if (!known) return graph().add_constant(name, std::move(tensor));
    const Tensor* before = graph().constant(*known);
    if (before == nullptr || !before->bit_equal(tensor)) return cursor.expected("the same constant as before");
    return *known;
  }

  static Result<void> need_end(Cursor& cursor) {
    if (cursor.done()) return {};
    return cursor.expected("the end of the line");
  }

  ParsedGraph out_;
};

}  // namespace

Result<ParsedGraph> parse_text(std::string_view text) {
  Parser parser;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    KINGLET_TRY(parser.parse_line(Cursor(text.substr(0, end), line)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.take();
}

}  // namespace kinglet::engine
