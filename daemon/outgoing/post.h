// SPDX-License-Identifier: Apache-2.0
// Why: one POST or PUT over libcurl that can be called off, and what its answer means for the message.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "daemon/outgoing/answer.h"
#include "engine/base/error.h"

namespace kinglet::daemon::outgoing {

enum class Method : std::uint8_t { kPost, kPut };

struct Request {
  Method method = Method::kPost;
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  std::filesystem::path certificates;  // empty: the system's
  std::chrono::milliseconds timeout{10'000};
};

// Follows nothing, reads little of the answer. `go_on` is asked several times a second. kUnavailable: no libcurl.
[[nodiscard]] Result<Answer> post(const Request& request, const std::function<bool()>& go_on);

}  // namespace kinglet::daemon::outgoing
