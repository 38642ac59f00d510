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
  std::vector<std::string> secrets = {};  // that an answer is not shown with, besides the path of the address
  std::filesystem::path certificates;     // empty: the system's
  std::chrono::milliseconds timeout{10'000};
};

// Follows nothing; of the answer little is read: `detail` has what it says of why, if it is no 2xx. `go_on` is asked
// several times a second. kUnavailable: no libcurl.
[[nodiscard]] Result<Answer> post(const Request& request, const std::function<bool()>& go_on);

}  // namespace kinglet::daemon::outgoing
