// SPDX-License-Identifier: Apache-2.0
// Why: a message as each service wants it, by the table services.def.
#pragma once

#include <string>
#include <variant>

#include "daemon/notify/message.h"
#include "daemon/notify/target.h"
#include "daemon/outgoing/mail.h"
#include "daemon/outgoing/post.h"

namespace kinglet::daemon::notify {

using Parcel = std::variant<outgoing::Request, outgoing::Mail>;

// For who writes one: `secret` is what the file says, empty: none. kConfig: it cannot be one of this service.
#define KINGLET_SERVICE(id, function, ...) \
  [[nodiscard]] Result<Parcel> function(const Target& target, const std::string& secret, const Message& message);
#include "daemon/notify/services.def"
#undef KINGLET_SERVICE

// Reads the secret. Its errors, and kConfig: a secret with characters that none has.
[[nodiscard]] Result<Parcel> parcel(const Target& target, const Message& message);

}  // namespace kinglet::daemon::notify
