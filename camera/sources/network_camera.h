// SPDX-License-Identifier: Apache-2.0
// Why: asks one network camera by ONVIF where its streams are: what camera/discovery/ knows, over HTTP, within a limit.
// `rtsp:` and `kinglet cameras --stream-of` ask here, so that the one takes what the other shows.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "camera/discovery/onvif.h"
#include "camera/stream/address.h"
#include "engine/base/error.h"

namespace kinglet::camera {

struct CameraQuestion {
  std::string host;          // a name, or an address in numbers
  Login login;               // goes to this host alone, as a digest
  bool login_rests = false;  // it was refused there a moment ago: who it is is found out, and that counts still
  StreamWish wish = StreamWish::kSmaller;
  SearchOptions search{};                      // how long and where it is looked for
  std::chrono::milliseconds patience{30'000};  // for all of it
  std::function<bool()> called_off;            // asked every few milliseconds; may be empty
};

struct CameraAnswer {
  std::optional<FoundCamera> camera;  // absent: there is none
  Result<OnvifStream> stream;         // errors of find_camera() and ask_for_stream()
};

// Waits for `patience` at most, a few milliseconds once it is called off.
[[nodiscard]] CameraAnswer ask_camera(const CameraQuestion& question);

// "640x360 H264, the smallest of its 3 streams that is at least 320x240".
[[nodiscard]] std::string words_of(const OnvifStream& stream, StreamWish wish);

}  // namespace kinglet::camera
