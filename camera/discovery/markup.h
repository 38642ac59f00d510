// SPDX-License-Identifier: Apache-2.0
// Why: the texts of a small XML document of a stranger, without what makes XML dangerous: no DTD, no entities but the
// five of XML 1.0 and characters by number, nothing is fetched, nothing grows.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::camera {

// More deeply nested is refused.
inline constexpr std::size_t kDeepestMarkup = 32;

// The names of the elements around a text, outermost first, without their prefixes. Each is the very place in the
// document where its element begins.
using MarkupPath = std::span<const std::string_view>;

// Calls `take` for each text that is not blank, in its order, its entities resolved. kBadData: no well-formed XML of
// elements, comments and processing instructions; what was taken before counts for nothing then.
// `attribute`, which may be empty, is called for each attribute of an element (the last of `path`) before its texts,
// the name without its prefix; what is no attribute in a tag, and all behind it, is passed over.
using TakeAttribute = std::function<void(MarkupPath path, std::string_view name, std::string value)>;
[[nodiscard]] Result<void> read_markup(std::string_view document,
                                       const std::function<void(MarkupPath path, std::string text)>& take,
                                       const TakeAttribute& attribute = {});

}  // namespace kinglet::camera
