// SPDX-License-Identifier: Apache-2.0
// Why: who asks, as the door has found out once for each request.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/tokens/role.h"

namespace kinglet::daemon::http {

enum class Evidence : std::uint8_t { kNone, kBearer, kBasic, kCookie };

// For whom places are kept when many come at once: each has its own besides those of the ones before it.
enum class Standing : std::uint8_t {
  kStranger,  // from elsewhere: all of them together have a ceiling
  kHome,      // the home network
  kOwner,     // signed in as one
  kMachine,   // loopback and the unix socket
};

// Whose limits count for a connection or a request, and what is kept for it.
struct Visitor {
  Standing standing = Standing::kStranger;
  std::string limit_key;
};

struct Caller {
  Role role = Role::kOpen;
  std::string token_name;  // of a token that is one of ours; empty without
  std::string address;     // of the client; "unix" for the socket in the file system
  std::string limit_key;   // limits are counted under this name
  bool local = false;      // on this machine or the home network, and not through a proxy that is not trusted
  bool unlimited = false;  // loopback and the unix socket
  bool proxied = false;    // came through a proxy, trusted or not
  bool secure = false;     // the client speaks TLS, with us or with a trusted proxy
  Evidence evidence = Evidence::kNone;
  bool bad_token = false;  // the evidence is nobody's
  bool blocked = false;    // too many bad tokens: the evidence was not looked at
  Standing standing = Standing::kStranger;
};

}  // namespace kinglet::daemon::http
