// SPDX-License-Identifier: Apache-2.0
// Why: what is left to do of one command, such that any thread can take it: each has a share of its own that the others
// help with when theirs is empty.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace kinglet::engine {

// The tiles [first, end) that one thread begins with. Its own thread takes from the front, so that it walks through
// memory as it lies; the others take from the back. On a cache line of its own.
class alignas(64) Share {
 public:
  static constexpr std::size_t kMostTiles = std::numeric_limits<std::uint32_t>::max();

  // While nobody else looks.
  void fill(std::size_t first, std::size_t end) { left_.store(packed(first, end), std::memory_order_relaxed); }

  [[nodiscard]] std::optional<std::size_t> take_first() {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    while (first_of(left) < end_of(left)) {
      if (replace(left, packed(first_of(left) + 1, end_of(left)))) return first_of(left);
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> take_last() {
    std::uint64_t left = left_.load(std::memory_order_relaxed);
    while (first_of(left) < end_of(left)) {
      if (replace(left, packed(first_of(left), end_of(left) - 1))) return end_of(left) - 1;
    }
    return std::nullopt;
  }

 private:
  static constexpr int kHalf = 32;
  static std::size_t first_of(std::uint64_t left) { return left >> kHalf; }
  static std::size_t end_of(std::uint64_t left) { return left & kMostTiles; }
  static std::uint64_t packed(std::size_t first, std::size_t end) { return std::uint64_t{first} << kHalf | end; }
  // Relaxed: what tiles read and write is ordered by who joins and leaves the command.
  bool replace(std::uint64_t& expected, std::uint64_t wanted) {
    return left_.compare_exchange_weak(expected, wanted, std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> left_{0};
};

// A command: tiles numbered from 0, each done once by one of the threads.
class Work {
 public:
  virtual ~Work() = default;
  [[nodiscard]] virtual std::size_t tiles() const = 0;
  // All of them, in order, as thread 0.
  virtual void run_alone() const = 0;
  // As `thread` takes tiles until there are none; how many it took.
  virtual std::size_t run_share(std::size_t thread, std::span<Share> shares) const = 0;
};

}  // namespace kinglet::engine
