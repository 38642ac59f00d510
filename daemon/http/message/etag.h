// SPDX-License-Identifier: Apache-2.0
// Why: who changes something has seen it (RFC 9110, section 13.1.1).
#pragma once

#include <string>
#include <string_view>

namespace kinglet::daemon::http {

// Is `tag` one of the entity tags of If-Match? "*" is every tag; a weak one is none.
[[nodiscard]] bool names_tag(std::string_view if_match, std::string_view tag);

// A strong tag of what an answer says.
[[nodiscard]] std::string tag_of(std::string_view body);

}  // namespace kinglet::daemon::http
