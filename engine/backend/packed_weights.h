// SPDX-License-Identifier: Apache-2.0
// Why: packed weights are what a model mostly holds in memory. Whoever packs some asks here for the room, and may find
// that they were packed before. Pieces are asked for in an order that follows from the model alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace kinglet::engine {

// Whether pieces in memory share blocks. Where a sanitizer looks each has its own, so that it sees who reads beyond
// one.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kPiecesShareBlocks = false;
#elif defined(__has_feature)
inline constexpr bool kPiecesShareBlocks = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool kPiecesShareBlocks = true;
#endif

// All of one session's. Pieces begin at multiples of kAlignment, with as many readable bytes behind them as a
// TensorBuffer has, and stay as they are while this lives. Thread-bound.
class PackedWeights {
 public:
  static constexpr std::size_t kAlignment = 64;

  virtual ~PackedWeights() = default;

  // The next piece, if it was packed before: of `maker`, a number for who packs how, and of at least so many bytes. A
  // maker that knows the size and finds another one says so by mismatch(), and does not use the piece.
  [[nodiscard]] virtual std::optional<std::span<const std::byte>> find(std::uint64_t maker, std::size_t least) = 0;
  virtual void mismatch() = 0;

  // Room for a piece, of any content, until keep() has it. Gives where the piece lies from then on.
  [[nodiscard]] virtual std::span<std::byte> room(std::size_t bytes) = 0;
  [[nodiscard]] virtual const std::byte* keep(std::uint64_t maker, std::span<const std::byte> piece) = 0;
};

// What was packed before, or what `fill` packs into room of `bytes`.
template <typename Fill>
const std::byte* packed_piece(PackedWeights& weights, std::uint64_t maker, std::size_t bytes, const Fill& fill) {
  if (const auto found = weights.find(maker, bytes)) {
    if (found->size() == bytes) return found->data();
    weights.mismatch();
  }
  const std::span<std::byte> room = weights.room(bytes);
  fill(room);
  return weights.keep(maker, room);
}

// In memory of its own, where nothing was packed before.
[[nodiscard]] std::unique_ptr<PackedWeights> packed_in_memory();

}  // namespace kinglet::engine
