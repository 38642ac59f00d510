// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/packed_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/graph/tensor.h"

namespace kinglet::engine {
namespace {

// Pieces lie side by side in blocks of half of all that came before, since a processor finds what lies in few huge
// pages sooner than what is spread over many small ones (decision 56). What is left of a block takes no memory, but for
// the rest of its last page.
class InMemory final : public PackedWeights {
 public:
  std::optional<std::span<const std::byte>> find(std::uint64_t /*maker*/, std::size_t /*least*/) override {
    return std::nullopt;
  }
  void mismatch() override {}
  std::span<std::byte> room(std::size_t bytes) override {
    const std::size_t taken = kPiecesShareBlocks ? room_of(bytes) : std::max<std::size_t>(bytes, 1);
    total_ += taken;
    std::span<std::byte>& left = with_room_for(taken);
    return std::exchange(left, left.subspan(taken)).first(bytes);
  }
  const std::byte* keep(std::uint64_t /*maker*/, std::span<const std::byte> piece) override { return piece.data(); }

 private:
  static constexpr std::size_t kLargestBlock = kPiecesShareBlocks ? std::size_t{64} << 20 : 0;

  // With what may be read behind it, up to the next piece.
  static std::size_t room_of(std::size_t bytes) {
    return (bytes + TensorBuffer::kReadableSlack + kAlignment - 1) / kAlignment * kAlignment;
  }

  struct Block {
    explicit Block(std::size_t bytes) : memory(bytes), left(memory.data(), memory.size()) {}
    TensorBuffer memory;
    std::span<std::byte> left;
  };

  std::span<std::byte>& with_room_for(std::size_t bytes) {
    const auto fits = [&](const Block& block) { return block.left.size() >= bytes; };
    const auto found = std::ranges::find_if(blocks_, fits);
    return (found != blocks_.end() ? *found
                                   : blocks_.emplace_back(std::max(bytes, std::min(total_ / 2, kLargestBlock))))
        .left;
  }

  std::vector<Block> blocks_;
  std::size_t total_ = 0;  // bytes of all pieces
};

}  // namespace

std::unique_ptr<PackedWeights> packed_in_memory() { return std::make_unique<InMemory>(); }

}  // namespace kinglet::engine
