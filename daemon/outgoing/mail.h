// SPDX-License-Identifier: Apache-2.0
// Why: one mail over SMTP by libcurl that can be called off, and what the answer means for the message.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "daemon/outgoing/answer.h"
#include "engine/base/error.h"

namespace kinglet::daemon::outgoing {

struct Mail {
  std::string server;  // "smtps://mail.example", or "smtp://mail.example:587", which has to offer TLS unless it is here
  std::string username;  // empty: nobody in particular
  std::string password;
  std::string from;  // addresses
  std::string to;
  std::string letter;                  // headers and body as RFC 5322 has them, lines ended by CR LF
  std::filesystem::path certificates;  // empty: the system's
  std::chrono::milliseconds timeout{30'000};
};

// kUnavailable: no libcurl.
[[nodiscard]] Result<Answer> send_mail(const Mail& mail, const std::function<bool()>& go_on);

}  // namespace kinglet::daemon::outgoing
