// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK packs a layer's weights when a runtime is made, all layers in one call. This stands in the place of its
// weights cache, hears of every layer, and so lets go of each filter as soon as it is packed; or says where it lies
// packed already.
//
// What XNNPACK (20241108) asks, an operator: convolutions as products and fully-connected layers look_up() first; then,
// where that gave nothing, reserve_space(), and look_up_or_insert() when the room is full. A convolution calls the
// latter also after a hit, with no pointer and the size that it expects. Depthwise convolutions and others do not look
// up: their weights are few, packed every time, and read before the runtime is made.
#pragma once

#include <xnnpack.h>

#include <unordered_map>
#include <vector>

#include "engine/backend/packed_weights.h"
#include "engine/backend/xnnpack/subgraph_builder.h"

namespace kinglet::engine::xnn {

// Outlives the runtime that it packs for. Thread-bound.
class Packing {
 public:
  Packing(PackedWeights& weights, std::vector<LateFilter> filters);
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;

  [[nodiscard]] xnn_weights_cache_t provider() { return &provider_; }
  // The runtime is made: what was not asked for goes.
  void end() { filters_.clear(); }
  // False: a filter was packed that had not been asked for, and so had not been read.
  [[nodiscard]] bool in_turn() const { return in_turn_; }

 private:
  [[nodiscard]] std::size_t look_up(const xnn_weights_cache_look_up_key& key);
  [[nodiscard]] void* reserve(std::size_t bytes);
  [[nodiscard]] std::size_t insert(const xnn_weights_cache_look_up_key& key, void* packed, std::size_t bytes);

  xnn_weights_cache_provider provider_{};
  PackedWeights* weights_;
  std::unordered_multimap<const void*, LateFilter> filters_;  // by where XNNPACK was told that they lie
  std::unique_ptr<PackedWeights> others_;                     // of layers that do not look up
  const void* asked_ = nullptr;                               // the filter that is being packed
  bool in_turn_ = true;
  std::size_t found_bytes_ = 0;  // of the newest hit
  const std::byte* found_ = nullptr;
};

}  // namespace kinglet::engine::xnn
