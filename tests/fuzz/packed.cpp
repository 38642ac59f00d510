// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/base/check.h"
#include "engine/session/kept_weights.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/targets.h"

namespace kinglet::fuzz {
namespace {

using engine::KeptFile;
using engine::KeptHeader;
using engine::KeptPiece;

// The list as the head tells of it, where it can lie there.
std::vector<KeptPiece> list_of(std::span<const std::byte> bytes) {
  KeptHeader header;
  if (bytes.size() < sizeof header) return {};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.index > bytes.size() || header.pieces > (bytes.size() - header.index) / sizeof(KeptPiece)) return {};
  std::vector<KeptPiece> pieces(header.pieces);
  std::ranges::copy(bytes.subspan(header.index, header.pieces * sizeof(KeptPiece)),
                    std::as_writable_bytes(std::span(pieces)).begin());
  return pieces;
}

// With sums that hold: else nothing wrong gets past them.
std::vector<std::byte> sealed(std::span<const std::byte> bytes, const KeptFile& kept) {
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  std::vector<KeptPiece> pieces = list_of(bytes);
  if (pieces.empty()) return out;
  for (KeptPiece& piece : pieces) {
    if (piece.offset > bytes.size() || piece.bytes > bytes.size() - piece.offset) continue;
    piece.sum = engine::kept_sum_of(bytes.subspan(piece.offset, piece.bytes));
  }
  KeptHeader given;
  std::memcpy(&given, bytes.data(), sizeof given);
  const std::span<const std::byte> list = std::as_bytes(std::span(pieces));
  KeptHeader header(kept.digest());
  header.pieces = given.pieces;
  header.index = given.index;
  header.index_sum = engine::kept_sum_of(list);
  header.sum = header.own_sum();
  std::ranges::copy(list, out.begin() + static_cast<std::ptrdiff_t>(header.index));
  std::ranges::copy(std::as_bytes(std::span(&header, 1)), out.begin());
  return out;
}

void read(std::span<const std::byte> bytes, const KeptFile& kept) {
  const FileDescriptor fd(::memfd_create("packed", 0));
  KINGLET_CHECK(::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const auto found = engine::FoundWeights::read(fd, kept);
  if (!found) return;
  // Each of them, and what a kernel may read behind it.
  for (const KeptPiece& piece : list_of(bytes)) {
    const auto weights = (*found)->find(piece.maker, piece.bytes);
    KINGLET_CHECK(weights && weights->size() == piece.bytes);
    (void)engine::kept_sum_of({weights->data(), weights->size() + engine::PackedWeights::kAlignment});
  }
  KINGLET_CHECK((*found)->fits());
}

}  // namespace

void packed(std::span<const std::byte> bytes) {
  const KeptFile kept("packed", "a key", std::uint64_t{1} << 20);
  read(bytes, kept);
  read(sealed(bytes, kept), kept);
}

}  // namespace kinglet::fuzz
