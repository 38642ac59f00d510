// SPDX-License-Identifier: Apache-2.0
#include "daemon/webhook/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "engine/base/format.h"

namespace kinglet::daemon::webhook {
namespace {

const unsigned char* bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

std::string base64(const unsigned char* data, std::size_t size) {
  std::string out((size + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), data, static_cast<int>(size));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

}  // namespace

Result<std::string> key_of_secret(std::string_view text) {
  constexpr std::string_view kPrefix = "whsec_";
  if (!text.starts_with(kPrefix)) return std::string(text);
  text.remove_prefix(kPrefix.size());
  std::string key(text.size() / 4 * 3 + 1, '\0');
  const int length =
      text.empty() || text.size() % 4 != 0
          ? -1
          : EVP_DecodeBlock(reinterpret_cast<unsigned char*>(key.data()), bytes(text), static_cast<int>(text.size()));
  if (length < 0) {
    return fail(ErrorCode::kConfig, "the secret begins with whsec_, but base64 does not follow", {},
                "make one: echo \"whsec_$(openssl rand -base64 24)\"");
  }
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  key.resize(static_cast<std::size_t>(length) - padding);
  return key;
}

std::string signature(std::string_view key, std::string_view id, std::string_view timestamp, std::string_view body) {
  const std::string text = format_text("{}.{}.{}", id, timestamp, body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes(text), text.size(), digest.data(), &length);
  return "v1," + base64(digest.data(), length);
}

}  // namespace kinglet::daemon::webhook
