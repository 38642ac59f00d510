// SPDX-License-Identifier: Apache-2.0
// Why: what the values of an enum are called stands in a table, a row a value.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace kinglet {

template <typename Value>
using Word = std::pair<Value, std::string_view>;

// The word in the row of `value`; `otherwise` where there is no such row.
template <typename Value, std::size_t kRows>
[[nodiscard]] constexpr std::string_view word_of(const Word<Value> (&words)[kRows], std::type_identity_t<Value> value,
                                                 std::string_view otherwise = {}) {
  for (const auto& [row, word] : words) {
    if (row == value) return word;
  }
  return otherwise;
}

}  // namespace kinglet
