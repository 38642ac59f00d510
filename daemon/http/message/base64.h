// SPDX-License-Identifier: Apache-2.0
// Why: base64 comes in bodies and in the header Authorization; both are hostile.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kinglet::daemon::http {

// RFC 4648, section 4, with padding. Nothing: it is none, or empty.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace kinglet::daemon::http
