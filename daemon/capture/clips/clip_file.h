// SPDX-License-Identifier: Apache-2.0
// Why: the form of a clip, on the disk as over HTTP: JPEG pictures as parts of multipart/x-mixed-replace, each with its
// time, which browsers show and players open.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/capture/clips/clip_ring.h"
#include "store/database/shared_bytes.h"

namespace kinglet::daemon {

inline constexpr std::string_view kClipType = "multipart/x-mixed-replace; boundary=kinglet";

// Empty without frames. Times between parts are those of the steady clock. The pictures are those of the frames.
[[nodiscard]] store::SharedBytes make_clip(const ClipFrames& frames);

struct ClipPart {
  std::string_view bytes;           // with its boundary and headers; the end of the clip comes with its last part
  std::string_view jpeg;            // the picture alone
  std::chrono::milliseconds at{0};  // Unix time
};
// Takes the first part off `clip`, bytes of a file. Nothing: there is none, or what comes is no part of a clip.
[[nodiscard]] std::optional<ClipPart> take_part(std::string_view& clip);

}  // namespace kinglet::daemon
