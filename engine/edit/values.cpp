// SPDX-License-Identifier: Apache-2.0
// Words of a person become attributes, types and dimensions.
#include <algorithm>
#include <cmath>

#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"
#include "engine/base/words.h"
#include "engine/edit/graph_tools.h"
#include "engine/edit/proto_text.h"
#include "engine/onnx/import.h"
#include "engine/onnx/tensor_proto.h"

namespace kinglet::engine::edit {
namespace {

using ::onnx::AttributeProto;

template <typename T>
std::optional<std::vector<T>> numbers(std::string_view text) {
  std::vector<T> out;
  for (const std::string& item : split_list(text)) {
    const auto value = parse_number<T>(item);
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

// "[1,2]" and "1,2" are the same list.
std::string_view without_brackets(std::string_view text) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') return text.substr(1, text.size() - 2);
  return text;
}

// How text without a known attribute reads.
int kind_of_text(std::string_view text) {
  const bool list = text.contains(',') || text.starts_with('[');
  const std::string_view items = without_brackets(text);
  if (numbers<std::int64_t>(items)) return list ? AttributeProto::INTS : AttributeProto::INT;
  if (numbers<float>(items)) return list ? AttributeProto::FLOATS : AttributeProto::FLOAT;
  return AttributeProto::STRING;
}

std::string_view kind_name(int kind) {
  static constexpr Word<int> kWords[] = {{AttributeProto::INT, "a whole number"},
                                         {AttributeProto::FLOAT, "a number"},
                                         {AttributeProto::INTS, "whole numbers: 1,2"},
                                         {AttributeProto::FLOATS, "numbers: 0.5,2"},
                                         {AttributeProto::STRING, "text"},
                                         {AttributeProto::STRINGS, "words: a,b"}};
  return word_of(kWords, kind, "of a kind that cannot be written as text");
}

bool assign(AttributeProto& attribute, int kind, std::string_view text) {
  attribute.set_type(static_cast<AttributeProto::AttributeType>(kind));
  const std::string_view items = without_brackets(text);
  switch (kind) {
    case AttributeProto::INT:
      if (const auto value = parse_number<std::int64_t>(text)) return attribute.set_i(*value), true;
      return false;
    case AttributeProto::FLOAT:
      if (const auto value = parse_number<float>(text)) return attribute.set_f(*value), true;
      return false;
    case AttributeProto::STRING:
      attribute.set_s(std::string(text));
      return true;
    case AttributeProto::INTS:
      if (const auto values = numbers<std::int64_t>(items))
        return attribute.mutable_ints()->Assign(values->begin(), values->end()), true;
      return false;
    case AttributeProto::FLOATS:
      if (const auto values = numbers<float>(items))
        return attribute.mutable_floats()->Assign(values->begin(), values->end()), true;
      return false;
    case AttributeProto::STRINGS:
      for (const std::string& item : split_list(items)) attribute.add_strings(item);
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, end);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    out.emplace_back(item);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Result<Assignment> split_assignment(std::string_view text, std::string_view what) {
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos && equals > 0) {
    return Assignment{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  }
  return fail(ErrorCode::kUsage, format_text("\"{}\" is not {}", printable(text), what));
}

Result<void> set_attribute(NodeProto& node, std::string_view name, std::string_view text) {
  AttributeProto* found = nullptr;
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == name) found = &attribute;
  }
  int kind = found != nullptr ? static_cast<int>(found->type()) : onnx_format::attribute_kind(node.op_type(), name);
  if (kind == AttributeProto::UNDEFINED) kind = kind_of_text(text);
  AttributeProto made;
  made.set_name(std::string(name));
  if (found != nullptr && found->has_doc_string()) made.set_doc_string(found->doc_string());
  if (!assign(made, kind, text)) {
    return fail(ErrorCode::kUsage,
                format_text("attribute {} is {}, got \"{}\"", printable(name), kind_name(kind), printable(text)),
                place(node));
  }
  if (found == nullptr) found = node.add_attribute();
  *found = std::move(made);
  return {};
}

Result<void> parse_dims(std::string_view text, ::onnx::TensorShapeProto& shape) {
  shape.clear_dim();
  for (const std::string& item : split_list(text)) {
    auto& dim = *shape.add_dim();
    const auto value = parse_number<std::int64_t>(item);
    if (value && *value >= 1 && *value <= (std::int64_t{1} << 31)) {
      dim.set_dim_value(*value);
    } else if (value || item.empty()) {
      return fail(ErrorCode::kUsage,
                  format_text("\"{}\" is no size: expected a number from 1 on, a name or ?", printable(item)));
    } else if (item != "?") {
      dim.set_dim_param(item);
    }
  }
  return {};
}

Result<void> parse_type(std::string_view text, ::onnx::ValueInfoProto& value) {
  const std::size_t open = text.find('[');
  auto& type = *value.mutable_type()->mutable_tensor_type();
  if (const auto named = data_type_of(text.substr(0, open))) type.set_elem_type(onnx_format::onnx_type(*named));
  if (type.elem_type() == 0 || (open != std::string_view::npos && !text.ends_with(']'))) {
    return fail(ErrorCode::kUsage, format_text("\"{}\" is no type", printable(text)), {},
                "a type looks like f32[1,3,224,224]; types are f32, f16, i64, i32, i8, u8 and bool");
  }
  if (open == std::string_view::npos) return {};
  return parse_dims(text.substr(open + 1, text.size() - open - 2), *type.mutable_shape());
}

}  // namespace kinglet::engine::edit
