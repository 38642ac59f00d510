// SPDX-License-Identifier: Apache-2.0
// Why: a path as routes see it: decoded, but for the slashes that belong to a segment (RFC 3986, section 2.2).
#pragma once

#include <string>
#include <string_view>

namespace kinglet::daemon::http {

// Of "/a%2Fb/%63?x=1" "/a%2Fb/c": only %2F and %25 are left.
[[nodiscard]] std::string path_of(std::string_view target);

// What one segment of that says: "a/b".
[[nodiscard]] std::string segment_text(std::string_view segment);

}  // namespace kinglet::daemon::http
