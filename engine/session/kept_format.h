// SPDX-License-Identifier: Apache-2.0
// Why: what a file of packed weights begins with, and its sums: for who writes it, and for those who feed its reader
// with wrong ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

typedef struct evp_mac_ctx_st EVP_MAC_CTX;  // NOLINT(modernize-use-using): as libcrypto has it

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
  std::uint64_t version = 1;
  std::array<char, 72> key{};  // digest of it
  std::uint64_t pieces = 0;
  std::uint64_t index = 0;  // where it begins: a KeptPiece each, and the file's end
  KeptSum index_sum{};
  KeptSum sum{};  // of all before
};

// Poly1305 with a key that everybody knows: of what libcrypto has the quickest on every processor, and damage is found
// all the same.
class KeptSumming {
 public:
  KeptSumming();
  void add(std::span<const std::byte> bytes);
  // Nothing: libcrypto has no such sum here.
  [[nodiscard]] std::optional<KeptSum> result();

 private:
  struct Free {
    void operator()(EVP_MAC_CTX* context) const;
  };
  std::unique_ptr<EVP_MAC_CTX, Free> context_;
  bool works_ = false;
};

[[nodiscard]] std::optional<KeptSum> kept_sum_of(std::span<const std::byte> bytes);

}  // namespace kinglet::engine
