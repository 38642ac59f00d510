// SPDX-License-Identifier: Apache-2.0
// Why: listening sockets of our own making: never shared with a second daemon, and an error that says what is wrong.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace kinglet::daemon::http {

struct Listener {
  FileDescriptor socket;
  std::string url;             // "http://127.0.0.1:8420/"; of every address of this machine that of loopback
  bool unix_socket = false;    // callers have no address
  std::filesystem::path file;  // of a socket in the file system that is ours to remove; else empty
  bool everywhere = false;     // reached from other machines
  bool tls = false;            // speaks it, and nothing else
};

// "127.0.0.1:8420", "[::]:8420" (IPv4 as well, unless `all` has that port for IPv4), "0.0.0.0:8420", "localhost:8420",
// or "unix:/path" (0660); port 0 takes a free one. Nothing where this machine has no such address (IPv6 switched off).
// kConfig: not of that form. kUnavailable: in use.
[[nodiscard]] Result<std::optional<Listener>> open_listener(std::string_view address,
                                                            std::span<const std::string> all = {});

// Sockets that systemd has opened for us (socket activation); none: it has not.
[[nodiscard]] Result<std::vector<Listener>> passed_listeners();

}  // namespace kinglet::daemon::http
