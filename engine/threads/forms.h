// SPDX-License-Identifier: Apache-2.0
// Why: a grid of up to six dimensions, cut in tiles along the last one or two, as pthreadpool's tasks are told of them.
// Where both are cut and the first of them has few tiles, it is the quicker one: those are products of a few rows with
// many columns, whose weights then come once to one thread, and not to all of them again for each few rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/threads/tiles.h"

namespace kinglet::engine {

// What a task is told before the indices: which kind of core it runs on, which thread it is.
enum class Lead { kNothing, kThread, kCore, kCoreAndThread };

// A task is called with the context, its lead, the index in each dimension, and how long the tile is along each of the
// last kTiled ones.
template <Lead kLead, std::size_t kDims, std::size_t kTiled, typename Task>
class Form final : public Work {
 public:
  using Numbers = std::array<std::size_t, kDims>;

  // `steps`: the tile's length along the last kTiled dimensions; 0 counts as 1.
  Form(Task task, void* context, std::uint32_t core, const Numbers& ranges, std::array<std::size_t, kTiled> steps)
      : task_(task), context_(context), core_(core), ranges_(ranges), counts_(ranges) {
    steps_.fill(1);
    for (std::size_t i = 0; i < kTiled; ++i) {
      const std::size_t d = kDims - kTiled + i;
      steps_[d] = std::max<std::size_t>(steps[i], 1);
      counts_[d] = ranges_[d] / steps_[d] + (ranges_[d] % steps_[d] == 0 ? 0 : 1);
    }
    for (const std::size_t count : counts_) tiles_ *= count;
    for (std::size_t i = 0; i < kDims; ++i) order_[i] = i;
    if constexpr (kTiled == 2) {
      if (counts_[kDims - 2] <= kFewTiles) std::swap(order_[kDims - 2], order_[kDims - 1]);
    }
  }

  [[nodiscard]] std::size_t tiles() const override { return tiles_; }

  void run_alone() const override {
    Numbers at{};
    for (std::size_t left = tiles_; left > 0; --left) {
      call(0, at);
      step(at);
    }
  }

  std::size_t run_share(std::size_t thread, std::span<Share> shares) const override {
    std::size_t taken = 0;
    if (const auto first = shares[thread].take_first()) {
      Numbers at = place_of(*first);
      do {
        call(thread, at);
        step(at);
        ++taken;
      } while (shares[thread].take_first());
    }
    for (std::size_t i = 1; i < shares.size(); ++i) {
      Share& other = shares[(thread + i) % shares.size()];
      while (const auto tile = other.take_last()) {
        call(thread, place_of(*tile));
        ++taken;
      }
    }
    return taken;
  }

 private:
  static constexpr std::size_t kFewTiles = 16;

  [[nodiscard]] Numbers place_of(std::size_t tile) const {
    Numbers at{};
    for (std::size_t i = kDims; i-- > 0;) {
      const std::size_t d = order_[i];
      at[d] = tile % counts_[d] * steps_[d];
      tile /= counts_[d];
    }
    return at;
  }
  // To the next tile, in the order of their numbers.
  void step(Numbers& at) const {
    for (std::size_t i = kDims; i-- > 0;) {
      const std::size_t d = order_[i];
      at[d] += steps_[d];
      if (at[d] < ranges_[d]) return;
      at[d] = 0;
    }
  }

  void call(std::size_t thread, const Numbers& at) const {
    call(thread, at, std::make_index_sequence<kDims>(), std::make_index_sequence<kTiled>());
  }
  template <std::size_t... kD, std::size_t... kT>
  void call(std::size_t thread, const Numbers& at, std::index_sequence<kD...> /*dims*/,
            std::index_sequence<kT...> /*tiled*/) const {
    const auto length = [&](std::size_t d) { return std::min(steps_[d], ranges_[d] - at[d]); };
    if constexpr (kLead == Lead::kNothing) {
      task_(context_, at[kD]..., length(kDims - kTiled + kT)...);
    } else if constexpr (kLead == Lead::kThread) {
      task_(context_, thread, at[kD]..., length(kDims - kTiled + kT)...);
    } else if constexpr (kLead == Lead::kCore) {
      task_(context_, core_, at[kD]..., length(kDims - kTiled + kT)...);
    } else {
      task_(context_, core_, thread, at[kD]..., length(kDims - kTiled + kT)...);
    }
  }

  Task task_;
  void* context_;
  std::uint32_t core_;
  Numbers ranges_, counts_, steps_{};
  Numbers order_{};  // of the dimensions, the quickest last
  std::size_t tiles_ = 1;
};

}  // namespace kinglet::engine
