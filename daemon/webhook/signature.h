// SPDX-License-Identifier: Apache-2.0
// Why: how a receiver knows that a message is ours and of now: the signature of the Standard Webhooks specification.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet::daemon::webhook {

// The bytes of a secret as it stands in a file: "whsec_" and base64, or any other text as it is. kConfig: no base64.
[[nodiscard]] Result<std::string> key_of_secret(std::string_view text);

// "v1,BASE64" for the headers webhook-id, webhook-timestamp and the body.
[[nodiscard]] std::string signature(std::string_view key, std::string_view id, std::string_view timestamp,
                                    std::string_view body);

}  // namespace kinglet::daemon::webhook
