// SPDX-License-Identifier: Apache-2.0
// Why: assembly and vectors read and write where no sanitizer looks, and on the emulated cores of ARM there is none.
// The memory that tests give to kernels ends where nothing can be read: who goes too far ends the process.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <span>
#include <stdexcept>

#include "engine/backend/packed_weights.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine::kernels {

// Begins at a multiple of 64 bytes, as a TensorBuffer does; less than 64 bytes behind the 64 that kernels may read, and
// less than a page in front, lies a page that nobody may touch.
class GuardedMemory {
 public:
  static constexpr std::byte kUntouched{0xA5};  // each byte before anybody writes

  explicit GuardedMemory(std::size_t bytes)
      : inner_((bytes + TensorBuffer::kReadableSlack + TensorBuffer::kAlignment + kPage - 1) / kPage * kPage) {
    void* const all = ::mmap(nullptr, inner_ + 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) throw std::runtime_error("no memory");
    first_ = static_cast<std::byte*>(all) + kPage;
    if (::mprotect(all, kPage, PROT_NONE) != 0 || ::mprotect(first_ + inner_, kPage, PROT_NONE) != 0)
      throw std::runtime_error("no guard");
    std::fill_n(first_, inner_, kUntouched);
    const std::size_t behind = (bytes + TensorBuffer::kReadableSlack + TensorBuffer::kAlignment - 1) /
                               TensorBuffer::kAlignment * TensorBuffer::kAlignment;
    bytes_ = {first_ + inner_ - behind, bytes};
  }
  ~GuardedMemory() { ::munmap(first_ - kPage, inner_ + 2 * kPage); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  // What can be written around the bytes was not.
  [[nodiscard]] bool is_untouched_around() const {
    const auto is_untouched = [](std::byte value) { return value == kUntouched; };
    const std::span<const std::byte> all(first_, inner_);
    const auto front = static_cast<std::size_t>(bytes_.data() - first_);
    return std::ranges::all_of(all.first(front), is_untouched) &&
           std::ranges::all_of(all.subspan(front + bytes_.size()), is_untouched);
  }

 private:
  const std::size_t kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t inner_;
  std::byte* first_ = nullptr;
  std::span<std::byte> bytes_;
};

class GuardedWeights final : public PackedWeights {
 public:
  std::optional<std::span<const std::byte>> find(std::uint64_t /*maker*/, std::size_t /*least*/) override {
    return std::nullopt;
  }
  void mismatch() override {}
  std::span<std::byte> room(std::size_t bytes) override { return pieces_.emplace_back(bytes).bytes(); }
  const std::byte* keep(std::uint64_t /*maker*/, std::span<const std::byte> piece) override { return piece.data(); }
  [[nodiscard]] bool are_untouched_around() const {
    return std::ranges::all_of(pieces_, &GuardedMemory::is_untouched_around);
  }

 private:
  std::list<GuardedMemory> pieces_;
};

}  // namespace kinglet::engine::kernels
