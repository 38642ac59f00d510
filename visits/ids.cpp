// SPDX-License-Identifier: Apache-2.0
#include "visits/ids.h"

#include <random>

namespace kinglet::visits {
namespace {

constexpr std::string_view kCrockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

std::uint64_t system_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// `count` letters of `value`, five bits each, the last letter holds the lowest bits.
void write_base32(std::uint64_t value, std::size_t count, char* out) {
  for (std::size_t i = count; i-- > 0; value >>= 5) out[i] = kCrockford[value & 31];
}

}  // namespace

IdMaker::IdMaker() : IdMaker(system_seed()) {}
IdMaker::IdMaker(std::uint64_t seed) : state_(seed) {}

// splitmix64: ids need to be unlike each other, not secret.
std::uint64_t IdMaker::random() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

Ulid IdMaker::next(WallTime now) {
  const auto since_epoch = std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count();
  const auto ms = since_epoch > 0 ? static_cast<std::uint64_t>(since_epoch) : 0;
  MutexLock lock(mutex_);
  if (ms > last_ms_) {
    last_ms_ = ms;
    // The highest bit stays free so that counting up within a millisecond cannot overflow.
    high_ = static_cast<std::uint16_t>(random() & 0x7FFF);
    low_ = random();
  } else {
    if (++low_ == 0) ++high_;
  }
  Ulid id;
  write_base32(last_ms_, 10, id.letters.data());
  // 80 bits in 16 letters: the first 8 hold the upper 40 bits, the last 8 the lower 40.
  const std::uint64_t upper40 = (std::uint64_t{high_} << 24) | (low_ >> 40);
  write_base32(upper40, 8, id.letters.data() + 10);
  write_base32(low_ & 0xFFFFFFFFFFU, 8, id.letters.data() + 18);
  return id;
}

void IdMaker::start_at(std::uint64_t ms) {
  MutexLock lock(mutex_);
  if (ms <= last_ms_) return;
  last_ms_ = ms;
  high_ = static_cast<std::uint16_t>(random() & 0x7FFF);
  low_ = random();
}

std::uint64_t IdMaker::last_ms() const {
  MutexLock lock(mutex_);
  return last_ms_;
}

std::string IdMaker::next_text(std::string_view kind, WallTime now) {
  const Ulid id = next(now);
  std::string text(kind);
  text += '_';
  text += id.view();
  return text;
}

}  // namespace kinglet::visits
