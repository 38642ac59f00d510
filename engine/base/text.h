// SPDX-License-Identifier: Apache-2.0
// Why: small text helpers that error messages of every folder need.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kinglet {

// The candidate with the smallest edit distance to `word`, or an empty view when none is near (more than a third of
// the word would have to change). For "did you mean" hints.
[[nodiscard]] std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

// `text` with every byte that is not printable ASCII or valid UTF-8 replaced, and cut to `limit` bytes: for putting
// untrusted names into one line of a message or a log.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 200);

// Of ASCII and no blank, as in addresses. One answer everywhere: a byte above it is negative on x86-64 and not on ARM.
[[nodiscard]] constexpr bool is_visible(char c) { return c > ' ' && c < '\x7F'; }

}  // namespace kinglet
