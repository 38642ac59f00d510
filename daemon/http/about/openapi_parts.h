// SPDX-License-Identifier: Apache-2.0
// Why: what the route table does not say of the API: bodies, their members and an example of each, by handler.
#pragma once

#include <string_view>

namespace kinglet::daemon::http {

// openapi_parts.json: {"schemas": {...}, "operations": {"get_stats": {"responses": ...}}}.
[[nodiscard]] std::string_view openapi_parts();

}  // namespace kinglet::daemon::http
