// SPDX-License-Identifier: Apache-2.0
// Why: how a layer of 8-bit products is cut decides what it costs (products_s8.cpp) and how it runs (kernel.cpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/kernel.h"
#include "engine/backend/kernels/packed_layer_s8.h"
#include "engine/backend/kernels/products/form.h"

namespace kinglet::engine::kernels::products {

inline constexpr std::size_t kMostTapRows = 8;
// Of a window whose numbers are brought together: on the stack of their thread, where each is where it is multiplied.
inline constexpr std::size_t kMostJoined = 4608;

// Rows of the product are pixels of the input as they lie.
[[nodiscard]] inline bool lies_together(const ConvolutionShape& shape) {
  const xnn::Window& window = shape.window;
  return shape.taps() == 1 && window.pad_top == 0 && window.pad_left == 0 && window.pad_bottom == 0 &&
         window.pad_right == 0;
}

// How a layer is cut: pixels of the output, of all lines and images one behind the other, into panels of as many as a
// form has rows; panels into bands where their numbers are brought together; outputs into chunks of blocks.
struct Cut {
  Cut(const ConvolutionShape& shape, const Form& form)
      : joined(!lies_together(shape)),
        numbers(rounded_up(shape.taps() * shape.input_channels, form.step)),
        pixels(shape.batch * shape.output_height * shape.output_width),
        panels(divided_up(pixels, form.rows)),
        bands(joined ? std::min(shape.batch * shape.output_height, panels) : panels),
        blocks(divided_up(shape.output_channels, form.block)) {
    constexpr std::size_t kParts = 28;  // several for each of four threads
    if (!joined) chunks = std::clamp<std::size_t>(kParts / std::max<std::size_t>(panels, 1), 1, blocks);
    const std::size_t weights = blocks * form.block * numbers;
    chunk_by_chunk = form.is_of_board && weights > kFarWeights;
    if (!chunk_by_chunk) return;
    chunks = std::min(std::max(chunks, divided_up(weights, kNearWeights)), blocks);
    if (joined)
      batch_panels = std::clamp<std::size_t>(kNearPanels / (form.rows * line()), 1, std::max<std::size_t>(panels, 1));
  }

  [[nodiscard]] std::size_t first_pixel(std::size_t panel) const { return panel * pixels / panels; }
  [[nodiscard]] std::size_t first_panel(std::size_t band) const { return band * panels / bands; }
  [[nodiscard]] std::size_t first_block(std::size_t chunk) const { return chunk * blocks / chunks; }
  // Bytes from one row to the next, where they are brought together: what is behind a row is written and read.
  [[nodiscard]] std::size_t line() const { return rounded_up(numbers, kReadBehind) + 2 * kReadBehind; }

  bool joined;
  std::size_t numbers;  // of a row
  std::size_t pixels, panels, bands;
  std::size_t blocks;            // of outputs
  std::size_t chunks = 1;        // of blocks, each a thread's
  bool chunk_by_chunk = false;   // all pixels take one before the next
  std::size_t batch_panels = 0;  // that are brought together before any takes one; 0: each where it is multiplied
};

[[nodiscard]] inline LayerS8Sizes sizes_of(const Cut& cut, const Form& form) {
  const std::size_t outputs = cut.blocks * form.block;
  return {.bias = outputs * form.bias_lanes, .factors = outputs, .weights = outputs * cut.numbers};
}

// Of a layer that has at most kMostJoined numbers under a window and kMostTapRows rows of taps, or whose rows lie
// together.
[[nodiscard]] std::unique_ptr<Kernel> make_kernel(const ConvolutionS8& work, const FormsS8<Form>& forms,
                                                  PackedWeights& weights);

}  // namespace kinglet::engine::kernels::products
