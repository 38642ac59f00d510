// SPDX-License-Identifier: Apache-2.0
// Why: how a connection ends without its last answer being lost, and who is at its other end.
#pragma once

#include <string>
#include <string_view>

namespace kinglet::daemon::http {

// Takes what the client still sends for a moment, so that closing does not reset the connection before it has read
// our answer.
void close_gently(int socket);

// Says so and lets go without waiting: the connection is closed afterwards. What has come already is taken, because
// closing over unread bytes would take the answer back.
void refuse(int socket, std::string_view text);

// The address of an accepted connection's other end, as Door::identify() takes it; empty: it is gone already.
[[nodiscard]] std::string peer_of(int socket);

}  // namespace kinglet::daemon::http
