// SPDX-License-Identifier: Apache-2.0
// Why: names of files, nodes and labels are hostile where they stand in a page.
#pragma once

#include <string>
#include <string_view>

namespace kinglet::cli {

// The text as content or attribute of an element: escaped, without control characters, at most 400 characters.
[[nodiscard]] std::string html(std::string_view text);

}  // namespace kinglet::cli
