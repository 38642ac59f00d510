// SPDX-License-Identifier: Apache-2.0
// Why: a value as TOML and JSON both have it. Parts of the program hand it to each other; whoever speaks to somebody
// outside makes words of it, once.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace kinglet {

struct PlainValue;
using PlainList = std::vector<PlainValue>;
using PlainMembers = std::map<std::string, PlainValue, std::less<>>;

// At first an empty text. 4 and 4.0 are two values, an integer and a number.
struct PlainValue : std::variant<std::string, bool, std::int64_t, double, PlainList, PlainMembers> {
  using variant::variant;
};

// For nlohmann's JSON, of either kind, which is not known here.
template <typename Json, std::same_as<PlainValue> Value>
void to_json(Json& json, const Value& value) {
  std::visit([&json](const auto& is) { json = is; }, value);
}

}  // namespace kinglet
