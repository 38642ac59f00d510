// SPDX-License-Identifier: Apache-2.0
// Why: what a file of packed weights begins with, and its sums: for who writes it, and for those who feed its reader
// with wrong ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace kinglet::engine {

using KeptSum = std::array<std::byte, 16>;

// Of what its maker packed. The list of them ends the file.
struct KeptPiece {
  std::uint64_t maker = 0, offset = 0, bytes = 0;
  KeptSum sum{};
};

// As it lies at the beginning of a file. Numbers are this machine's: the file is for no other.
struct KeptHeader {
  static constexpr std::uint64_t kBegin = 4096;  // of the pieces

  KeptHeader() = default;
  explicit KeptHeader(std::string_view digest);
  [[nodiscard]] KeptSum own_sum() const;  // what `sum` has to be
  bool operator==(const KeptHeader&) const = default;

  std::array<char, 8> magic{'k', 'i', 'n', 'g', 'l', 'e', 't', 'W'};
  std::uint64_t version = 2;
  std::array<char, 72> key{};  // digest of it
  std::uint64_t pieces = 0;
  std::uint64_t index = 0;  // where it begins: a KeptPiece each, and the file's end
  KeptSum index_sum{};
  KeptSum sum{};  // of all before
};

// XXH3, 128 bits: as quick as memory is, and damage is found. It keeps nobody out: whoever can write the file can sum
// it.
class KeptSumming {
 public:
  KeptSumming();
  ~KeptSumming();
  KeptSumming(const KeptSumming&) = delete;
  KeptSumming& operator=(const KeptSumming&) = delete;

  void add(std::span<const std::byte> bytes);
  [[nodiscard]] KeptSum result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] KeptSum kept_sum_of(std::span<const std::byte> bytes);

}  // namespace kinglet::engine
