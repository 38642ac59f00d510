// SPDX-License-Identifier: Apache-2.0
// Why: lists are read in pages: a cursor says where the next one begins, and belongs to its filters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/message/message.h"

namespace kinglet::daemon::http {

// What the filters of a call say: its query without "cursor" and "limit".
[[nodiscard]] std::uint64_t filter_hash(const Call& call);
// For the page behind the row `seq`.
[[nodiscard]] std::string make_cursor(std::uint64_t seq, std::uint64_t filters);
// Nothing: it is no cursor of a list with these filters (400 bad-cursor).
[[nodiscard]] std::optional<std::uint64_t> seq_of_cursor(std::string_view cursor, std::uint64_t filters);
[[nodiscard]] Reply bad_cursor();
// The header Link of a page that is not the last.
[[nodiscard]] std::string next_link(const Call& call, std::string_view cursor);

}  // namespace kinglet::daemon::http
