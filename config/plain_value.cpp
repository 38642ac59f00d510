// SPDX-License-Identifier: Apache-2.0
// Why: plain values written as TOML and read from it.
#include "engine/base/plain_value.h"

#include <sstream>
#include <toml++/toml.hpp>

#include "config/config.h"
#include "engine/base/format.h"

namespace kinglet::config {
namespace {

std::string text_of(const std::string& text) {
  using enum toml::format_flags;
  constexpr auto kFlags = toml::toml_formatter::default_flags & ~(allow_literal_strings | allow_multi_line_strings);
  std::ostringstream out;
  out << toml::toml_formatter(toml::value<std::string>(text), kFlags);
  return out.str();
}

std::string text_of(bool flag) { return flag ? "true" : "false"; }
std::string text_of(std::int64_t number) { return std::to_string(number); }

// An integer of TOML would be another value.
std::string text_of(double number) {
  std::string text = format_text("{}", number);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string text_of(const PlainList& list) {
  std::string text;
  for (const PlainValue& one : list) text += (text.empty() ? "" : ", ") + toml_text(one);
  return "[" + text + "]";
}

std::string text_of(const PlainMembers& members) {
  std::string text;
  for (const auto& [name, one] : members) {
    text += format_text("{} {} = {}", text.empty() ? "" : ",", text_of(name), toml_text(one));
  }
  return text.empty() ? "{}" : "{" + text + " }";
}

PlainValue value_of(const toml::node& node);

PlainValue value_of(const toml::table& table) {
  PlainMembers members;
  for (const auto& [name, one] : table) members.emplace(name.str(), value_of(one));
  return members;
}

PlainValue value_of(const toml::array& array) {
  PlainList list;
  for (const toml::node& one : array) list.push_back(value_of(one));
  return list;
}

template <typename T>
PlainValue value_of(const toml::value<T>& value) {
  if constexpr (std::is_constructible_v<PlainValue, const T&>) {
    return value.get();
  } else {
    std::ostringstream out;
    out << value;
    return out.str();
  }
}

PlainValue value_of(const toml::node& node) {
  return node.visit([](const auto& typed) { return value_of(typed); });
}

}  // namespace

std::string toml_text(const PlainValue& value) {
  return std::visit([](const auto& is) { return text_of(is); }, value);
}

std::optional<PlainValue> plain_value(std::string_view toml) {
  try {
    const toml::table table = toml::parse(format_text("value = {}", toml));
    const toml::node* value = table.size() == 1 ? table.get("value") : nullptr;
    return value == nullptr ? std::nullopt : std::optional(value_of(*value));
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

}  // namespace kinglet::config
