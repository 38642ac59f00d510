// SPDX-License-Identifier: Apache-2.0
// Why: JSON that came from the network. Its members are found in a tree: our own Json keeps their order in a list, in
// which a body of a hundred thousand members is work for a minute.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace kinglet::daemon::http {

using Body = nlohmann::json;

inline constexpr std::size_t kDeepestBody = 16;
// Are lists and objects deeper in each other than that, whatever else is wrong with the text?
[[nodiscard]] bool is_too_deep(std::string_view json);
// Discarded (no object, no list, nothing) when it is no JSON, or too deep.
[[nodiscard]] Body parse_body(std::string_view json);

}  // namespace kinglet::daemon::http
