// SPDX-License-Identifier: Apache-2.0
// Why: the largest value of a MobileNet lies between a layer of single pixels that makes more channels and the
// depthwise layer that reads it. Both run in bands of rows, so that of that value there is a band at a time, which a
// core's cache holds: by XNNPACK (xnnpack/subgraph_bands.cpp) or by kernels of our own (kernels/bands.cpp), which are
// cut alike here. Pure.
#pragma once

#include <cstddef>

#include "engine/backend/xnnpack/checks.h"

namespace kinglet::engine {

[[nodiscard]] bool is_of_pixels(const xnn::Window& window);

// One image of the value between, and the layers beside it.
struct Between {
  std::size_t bytes, rows;
  std::size_t weight_bytes;  // of the layer of single pixels, which are packed once a band
  xnn::Window window;        // of the depthwise layer
  std::size_t outputs;       // rows that it makes
};

// 1: it is not worth it.
[[nodiscard]] std::size_t bands_of(const Between& between);

struct Band {
  std::size_t first, outputs;  // rows of the result
  std::size_t begin, rows;     // of the value between, and of what the first layer reads
  xnn::Window window;          // of the depthwise layer, with what of its padding is in this band
};
[[nodiscard]] Band band_of(const Between& between, std::size_t index, std::size_t count);

}  // namespace kinglet::engine
