// SPDX-License-Identifier: Apache-2.0
// Why: one question by POST to a camera, whose answer is read: bounded in time and bytes, no redirects.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "engine/base/error.h"

namespace kinglet::camera {

struct HttpAnswer {
  long status = 0;
  std::string body;
  std::string from;  // who answered, as an address in numbers
};

// IPv4 only. kUnavailable: no libcurl, nobody answers within `patience`, or with more than 256 KiB, or it was called
// off (asked every few milliseconds from inside; may be empty).
[[nodiscard]] Result<HttpAnswer> http_post(const std::string& url, const std::string& content_type,
                                           const std::string& body, std::chrono::milliseconds patience,
                                           const std::function<bool()>& called_off = {});

}  // namespace kinglet::camera
