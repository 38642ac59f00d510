// SPDX-License-Identifier: Apache-2.0
// Why: a clip as a file that galleries and players open: its JPEG pictures, untouched, in an AVI file (docs/decisions/
// 0009-clips-are-motion-jpeg-in-avi.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kinglet::daemon {

// `clip`: as make_clip() wrote it. AVI has one duration for all pictures: the shortest one of the clip; where a picture
// was seen longer it stays. Nothing: there is no picture in it.
[[nodiscard]] std::optional<std::string> make_avi(std::string_view clip);

}  // namespace kinglet::daemon
