// SPDX-License-Identifier: Apache-2.0
#include "engine/session/kept_format.h"

#include <openssl/evp.h>

#include <algorithm>
#include <type_traits>

namespace kinglet::engine {

static_assert(std::has_unique_object_representations_v<KeptHeader> &&
              std::has_unique_object_representations_v<KeptPiece>);

KeptHeader::KeptHeader(std::string_view digest) {
  std::copy_n(digest.begin(), std::min(digest.size(), key.size()), key.begin());
}

KeptSum KeptHeader::own_sum() const {
  return kept_sum_of(std::as_bytes(std::span(this, 1)).first(sizeof(KeptHeader) - sizeof(KeptSum))).value_or(KeptSum{});
}

KeptSumming::KeptSumming() {
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> kind(EVP_MAC_fetch(nullptr, "POLY1305", nullptr),
                                                               &EVP_MAC_free);
  context_.reset(kind ? EVP_MAC_CTX_new(kind.get()) : nullptr);
  constexpr std::array<unsigned char, 32> kKey{'k', 'i', 'n', 'g', 'l', 'e', 't'};
  works_ = context_ && EVP_MAC_init(context_.get(), kKey.data(), kKey.size(), nullptr) == 1;
}

void KeptSumming::add(std::span<const std::byte> bytes) {
  works_ =
      works_ && EVP_MAC_update(context_.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) == 1;
}

std::optional<KeptSum> KeptSumming::result() {
  KeptSum sum{};
  std::size_t size = 0;
  works_ =
      works_ && EVP_MAC_final(context_.get(), reinterpret_cast<unsigned char*>(sum.data()), &size, sum.size()) == 1;
  return works_ && size == sum.size() ? std::optional(sum) : std::nullopt;
}

void KeptSumming::Free::operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }

std::optional<KeptSum> kept_sum_of(std::span<const std::byte> bytes) {
  KeptSumming summing;
  summing.add(bytes);
  return summing.result();
}

}  // namespace kinglet::engine
