// SPDX-License-Identifier: Apache-2.0
// Why: which addresses the daemon answers on, and the one that people are told to open.
#pragma once

#include <string>
#include <vector>

#include "daemon/http/server/listener.h"
#include "engine/base/error.h"
#include "engine/base/log.h"

namespace kinglet::daemon {

// Sockets from systemd stand for `listen`; as a service there is a socket in the file system as well. A machine without
// IPv6 goes on with what it has. kUnavailable: none of them is there; kConfig: none is named.
[[nodiscard]] Result<std::vector<http::Listener>> open_listeners(const std::vector<std::string>& listen,
                                                                 const LogSink& log);

// The addresses of TCP speak https from now on.
void speak_tls(std::vector<http::Listener>& listeners);

// Where people on other machines open the page, by name_at_home(); its own address when it listens to nobody else.
[[nodiscard]] std::string page_of(const std::vector<http::Listener>& listeners, const std::string& name);

}  // namespace kinglet::daemon
