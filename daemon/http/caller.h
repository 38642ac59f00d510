// SPDX-License-Identifier: Apache-2.0
// Why: who asks, as the door has found out once for each request.
#pragma once

#include <string>

#include "daemon/role.h"

namespace kinglet::daemon::http {

enum class Evidence : std::uint8_t { kNone, kBearer, kBasic, kCookie };

struct Caller {
  Role role = Role::kOpen;
  std::string token_name;  // of a token that is one of ours; empty without
  std::string address;     // of the client; "unix" for the socket in the file system
  std::string limit_key;   // limits are counted under this name
  bool local = false;      // on this machine or the home network, and not through a proxy that is not trusted
  bool unlimited = false;  // loopback and the unix socket
  bool secure = false;     // the client speaks TLS, with us or with a trusted proxy
  Evidence evidence = Evidence::kNone;
  bool bad_token = false;  // the evidence is nobody's
  bool blocked = false;    // too many bad tokens: the evidence was not looked at
};

}  // namespace kinglet::daemon::http
