// SPDX-License-Identifier: Apache-2.0
// Why: random choices that can be written down, repeated and made smaller. A case is nothing but the list of numbers
// its generator drew; 0 is always the plainest choice, so that smaller numbers are smaller cases.
#pragma once

#include <cmath>
#include <cstdint>
#include <format>
#include <random>
#include <string>
#include <vector>

namespace kinglet::engine::random_cases {

using Tape = std::vector<std::uint32_t>;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  // Repeats `tape`; where it has ended the plainest choice is taken.
  explicit Draw(Tape tape) : given_(std::move(tape)), repeats_(true) {}

  [[nodiscard]] const Tape& tape() const { return drawn_; }

  // 0 to count - 1.
  int below(int count) {
    std::uint32_t number = 0;
    if (!repeats_) {
      number = static_cast<std::uint32_t>(random_()) % static_cast<std::uint32_t>(count);
    } else if (drawn_.size() < given_.size()) {
      number = given_[drawn_.size()] % static_cast<std::uint32_t>(count);
    }
    drawn_.push_back(number);
    return static_cast<int>(number);
  }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int count) { return below(count) == count - 1; }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int>(choices.size()))];
  }
  // A positive number anywhere between 2^low and 2^high, 1 first where it lies between.
  double power(int low, int high) {
    const int exponent = below(high - low + 1);
    const int middle = low <= 0 && high >= 0 ? -low : 0;
    const double fraction = 1 + below(64) / 64.0;
    return std::ldexp(fraction, low + (exponent + middle) % (high - low + 1));
  }
  // A whole list of axes 0 .. rank - 1 in any order, theirs first.
  std::vector<int> permutation(int rank) {
    std::vector<int> out(static_cast<std::size_t>(rank));
    for (int i = 0; i < rank; ++i) out[static_cast<std::size_t>(i)] = i;
    for (int i = 0; i + 1 < rank; ++i) {
      std::swap(out[static_cast<std::size_t>(i)], out[static_cast<std::size_t>(i + below(rank - i))]);
    }
    return out;
  }

 private:
  std::mt19937_64 random_;
  Tape given_, drawn_;
  bool repeats_ = false;
};

}  // namespace kinglet::engine::random_cases
