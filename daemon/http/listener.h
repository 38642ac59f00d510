// SPDX-License-Identifier: Apache-2.0
// Why: listening sockets of our own making: never shared with a second daemon, and an error that says what is wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace kinglet::daemon::http {

struct Listener {
  FileDescriptor socket;
  std::string url;  // "http://127.0.0.1:8420/"
};

// "127.0.0.1:8420", "[::1]:8420" or "localhost:8420" (IPv4); port 0 takes a free one. Nothing where this machine has no
// such address (IPv6 switched off). kConfig: not of that form or not loopback. kUnavailable: the port is in use.
[[nodiscard]] Result<std::optional<Listener>> open_listener(std::string_view address);

}  // namespace kinglet::daemon::http
