// SPDX-License-Identifier: Apache-2.0
#include "daemon/notify/services.h"

#include <algorithm>
#include <array>

#include "daemon/tokens/secret_file.h"
#include "engine/base/text.h"

namespace kinglet::daemon::notify {

Result<Parcel> parcel(const Target& target, const Message& message) {
  constexpr std::array kBuilders{
#define KINGLET_SERVICE(id, function, ...) &function,
#include "daemon/notify/services.def"
#undef KINGLET_SERVICE
  };
  std::string secret;
  if (!target.secret.empty()) secret = KINGLET_TRY(read_secret(target.secret));
  if (!std::ranges::all_of(secret, [](char c) { return c >= ' ' && c != '\x7F'; })) {
    return fail(ErrorCode::kConfig, "the secret has characters that cannot be sent", printable(target.secret.string()));
  }
  Result<Parcel> made = kBuilders.at(static_cast<std::size_t>(target.service))(target, secret, message);
  if (auto* request = made ? std::get_if<outgoing::Request>(&*made) : nullptr) {
    // Who knows where it goes reads along.
    request->secrets = {secret, secret.substr(secret.find_last_of("/:") + 1), target.to};
  }
  return made;
}

}  // namespace kinglet::daemon::notify
