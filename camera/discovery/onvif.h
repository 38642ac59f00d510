// SPDX-License-Identifier: Apache-2.0
// Why: where a network camera has its streams, as it says itself to who is let in: ONVIF's device and media
// services (ONVIF Core Specification, 8; Media Service Specification, 5), the login as a digest (WS-Security, Username
// Token Profile 1.0). Answers are a stranger's: bounded by who asks, and an address in them counts for this host only.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "camera/discovery/search.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace kinglet::camera {

struct OnvifLogin {
  std::string user;
  std::string password;
};

// Base64 of SHA-1 of nonce, time and password.
[[nodiscard]] std::string password_digest(std::string_view nonce, std::string_view created, std::string_view password);

struct OnvifStream {
  std::string address;  // "rtsp://192.168.1.64:554/stream2", of this host, without a login
  int width = 0;        // 0: it does not say
  int height = 0;
  std::string encoding;      // as it says it, "H264"; may be empty
  std::size_t profiles = 0;  // of how many it is one
};

// One question by POST: the body of the answer, its status, and who gave it. Errors of the way.
struct OnvifAnswer {
  long status = 0;
  std::string body;
  std::string from;  // an address in numbers
};
using AskOnvif = std::function<Result<OnvifAnswer>(const std::string& url, const std::string& message,
                                                   std::chrono::milliseconds patience)>;

// The camera `host`, a name or an address in numbers: by WS-Discovery (of numbers; `search` says how), else by asking
// at the ports where makers have ONVIF what time it is there, which needs no login. One that answers only the former
// may have no service. kNotFound: neither, or no such interface.
[[nodiscard]] Result<FoundCamera> find_camera(const std::string& host, const SearchOptions& search,
                                              const AskOnvif& ask);

// Of its profiles the one with the fewest pixels that is at least kLeastWidth x kLeastHeight, else (or if the largest
// is wished) the one with the most; one that does not say its size only where none does. The login goes to no other
// host, and where the service that was found is encrypted, to none that is not. Four questions. kNotPermitted: it does
// not take the login; kUnavailable: it says why it does not answer; kBadData: what it answers is none, or of another
// host; kNotFound: it has no stream, or no ONVIF service.
inline constexpr int kLeastWidth =
    320;  // models see squares of 224 pixels and more: a smaller picture is only enlarged
inline constexpr int kLeastHeight = 240;
[[nodiscard]] Result<OnvifStream> ask_for_stream(const FoundCamera& camera, const OnvifLogin& login, StreamWish wish,
                                                 const AskOnvif& ask);

}  // namespace kinglet::camera
