// SPDX-License-Identifier: Apache-2.0
// Why: std::format with its machinery compiled once. Called directly, every source that formats anything compiles all
// formatters again: one second of about four, two and a half at -O3.
#pragma once

#include <format>
#include <string>
#include <string_view>

namespace kinglet {

[[nodiscard]] std::string format_erased(std::string_view text, std::format_args arguments);

// As std::format: `text` is checked against the arguments by the compiler.
template <class... Args>
[[nodiscard]] std::string format_text(std::format_string<Args...> text, Args&&... arguments) {
  return format_erased(text.get(), std::make_format_args(arguments...));
}

}  // namespace kinglet
