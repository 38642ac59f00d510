// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/message/base64.h"

#include <openssl/evp.h>

namespace kinglet::daemon::http {

std::optional<std::string> from_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int written =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (written < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(written) -
               static_cast<std::size_t>(text.ends_with("==") ? 2 : text.ends_with('=')));
  return bytes;
}

}  // namespace kinglet::daemon::http
