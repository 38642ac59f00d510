// SPDX-License-Identifier: Apache-2.0
// Why: one POST over libcurl that can be called off, and what its answer means for the message.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "camera/stream/curl_library.h"
#include "engine/base/error.h"

namespace kinglet::daemon::webhook {

struct Request {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  std::filesystem::path certificates;  // empty: the system's
  std::chrono::milliseconds timeout{10'000};
};

enum class Outcome : std::uint8_t { kTaken, kTryAgain, kRefused, kCalledOff };

struct Answer {
  Outcome outcome = Outcome::kTryAgain;
  std::string detail;                               // one line, unless it was taken
  std::optional<std::chrono::seconds> retry_after;  // as the server wishes
};

// Follows nothing, reads little of the answer. `go_on` is asked several times a second. kUnavailable: no libcurl.
[[nodiscard]] Result<Answer> post(const Request& request, const std::function<bool()>& go_on);

}  // namespace kinglet::daemon::webhook
