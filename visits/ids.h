// SPDX-License-Identifier: Apache-2.0
// Why: names for things that are published: a kind and a ULID (github.com/ulid/spec), sortable and without allocation.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::visits {

// 26 letters of Crockford's base 32: 48 bits of milliseconds, 80 random bits.
struct Ulid {
  std::array<char, 26> letters{};

  [[nodiscard]] std::string_view view() const { return {letters.data(), letters.size()}; }
  bool operator==(const Ulid&) const = default;
  auto operator<=>(const Ulid&) const = default;
};

// Thread-safe. Each id is greater than the one before, also when the wall clock goes back.
class IdMaker {
 public:
  IdMaker();  // seeded from the system's random source
  explicit IdMaker(std::uint64_t seed);

  [[nodiscard]] Ulid next(WallTime now);
  // "req_01JTC..."; kind is three letters.
  [[nodiscard]] std::string next_text(std::string_view kind, WallTime now);

  // The next id's time part, Unix milliseconds, is at least this: ids of the process before this one stay the lower
  // ones.
  void start_at(std::uint64_t ms);
  [[nodiscard]] std::uint64_t last_ms() const;

 private:
  [[nodiscard]] std::uint64_t random() KINGLET_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::uint64_t state_ KINGLET_GUARDED_BY(mutex_);
  std::uint64_t last_ms_ KINGLET_GUARDED_BY(mutex_) = 0;
  std::uint16_t high_ KINGLET_GUARDED_BY(mutex_) = 0;  // upper 16 of the 80 bits
  std::uint64_t low_ KINGLET_GUARDED_BY(mutex_) = 0;   // lower 64
};

}  // namespace kinglet::visits
