// SPDX-License-Identifier: Apache-2.0
// Why: what reading the configuration and changing it have in common. Inside daemon/http/control/ only.
#pragma once

#include <string>
#include <string_view>

#include "daemon/http/message/body.h"
#include "daemon/http/message/message.h"
#include "daemon/http/routes/json.h"
#include "daemon/http/routes/setting.h"

namespace kinglet::daemon::http {

// GET /api/v1/config: all keys, where what is set over HTTP is kept, how often it can be undone.
[[nodiscard]] Json config_json(const SettingsDesk& desk);
// The same as an answer, with the tag that a change of it names.
[[nodiscard]] Reply config_reply(const SettingsDesk& desk);
// Of a fault whose message begins with "KEY = "; empty: of another.
[[nodiscard]] std::string_view key_of_fault(const Error& fault);

// What a body wishes a key to be. What stands for null within a list is taken by no key.
[[nodiscard]] PlainValue plain_of(const Body& value);
// What was not kept, and why.
[[nodiscard]] Reply refused(const SettingsRefusal& refusal);
// Who asks, for the log and the history.
[[nodiscard]] std::string who(const Call& call);

}  // namespace kinglet::daemon::http
