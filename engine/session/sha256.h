// SPDX-License-Identifier: Apache-2.0
// Why: digests of files and texts by libcrypto's plain functions. Its newer interface (EVP) first loads everything else
// that libcrypto can: 2.5 MB of a daemon that computes nothing but this (docs/benchmarks.md).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct SHA256state_st;  // NOLINT(readability-identifier-naming): as libcrypto has it

namespace kinglet::engine {

// FIPS 180-4. Thread-bound.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::span<const std::byte> bytes);
  // Of all that was added, 64 digits; once.
  [[nodiscard]] std::string hex();

 private:
  std::unique_ptr<SHA256state_st> state_;
};

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace kinglet::engine
