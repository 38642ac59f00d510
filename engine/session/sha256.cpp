// SPDX-License-Identifier: Apache-2.0
#define OPENSSL_API_COMPAT 0x10101000L  // these functions are of OpenSSL 1.1.1
#include "engine/session/sha256.h"

#include <openssl/sha.h>

#include <array>

#include "engine/base/format.h"

namespace kinglet::engine {

Sha256::Sha256() : state_(std::make_unique<SHA256state_st>()) { SHA256_Init(state_.get()); }

Sha256::~Sha256() = default;

void Sha256::add(std::span<const std::byte> bytes) { SHA256_Update(state_.get(), bytes.data(), bytes.size()); }

std::string Sha256::hex() {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_Final(digest.data(), state_.get());
  std::string text;
  for (const unsigned char byte : digest) text += format_text("{:02x}", byte);
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sum;
  sum.add(std::as_bytes(std::span(bytes)));
  return sum.hex();
}

}  // namespace kinglet::engine
