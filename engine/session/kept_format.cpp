// SPDX-License-Identifier: Apache-2.0
#include "engine/session/kept_format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <type_traits>

namespace kinglet::engine {

static_assert(std::has_unique_object_representations_v<KeptHeader> &&
              std::has_unique_object_representations_v<KeptPiece>);

KeptHeader::KeptHeader(std::string_view digest) {
  std::copy_n(digest.begin(), std::min(digest.size(), key.size()), key.begin());
}

KeptSum KeptHeader::own_sum() const {
  return kept_sum_of(std::as_bytes(std::span(this, 1)).first(sizeof(KeptHeader) - sizeof(KeptSum)));
}

struct KeptSumming::State {
  XXH3_state_t xxh3;
};

KeptSumming::KeptSumming() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh3); }

KeptSumming::~KeptSumming() = default;

void KeptSumming::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->xxh3, bytes.data(), bytes.size());
}

KeptSum KeptSumming::result() const {
  XXH128_canonical_t digits;
  XXH128_canonicalFromHash(&digits, XXH3_128bits_digest(&state_->xxh3));
  return std::bit_cast<KeptSum>(digits);
}

KeptSum kept_sum_of(std::span<const std::byte> bytes) {
  KeptSumming summing;
  summing.add(bytes);
  return summing.result();
}

}  // namespace kinglet::engine
