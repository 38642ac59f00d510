// SPDX-License-Identifier: Apache-2.0
#include "daemon/backup/digest.h"

#include <openssl/evp.h>

#include <array>

#include "engine/base/check.h"
#include "engine/base/format.h"

namespace kinglet::daemon::backup {

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Digest() : context_(EVP_MD_CTX_new()) {
  KINGLET_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Digest::add(std::string_view bytes) {
  KINGLET_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Digest::hex() const {
  const std::unique_ptr<evp_md_ctx_st, Free> copy(EVP_MD_CTX_new());
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned size = 0;
  KINGLET_CHECK(copy && EVP_MD_CTX_copy_ex(copy.get(), context_.get()) == 1 &&
                EVP_DigestFinal_ex(copy.get(), bytes.data(), &size) == 1);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += format_text("{:02x}", bytes.at(i));
  return text;
}

}  // namespace kinglet::daemon::backup
