// SPDX-License-Identifier: Apache-2.0
// Why: see convolution_s8.h. The first layers, of few channels: a row of a window is a handful of bytes that stand side
// by side, so that four of them at a time, whatever pixel they are of, go into one product.
#pragma once

#include <vector>

#include "engine/backend/kernels/convolution_s8.h"

namespace kinglet::engine::kernels {

class FewChannelsS8 final : public ConvolutionS8 {
 public:
  static constexpr std::size_t kMostRowBytes = 32;  // of a window: its columns times the channels
  static constexpr std::size_t kMostRows = 7;
  static constexpr std::size_t kOutputs = 16;  // at once; there are whole multiples of it
  // Of all outputs; with more XNNPACK's tiles fill (measured: 16 to 96 channels take 0.7 of its time, 24 to 144 as
  // long).
  static constexpr std::size_t kMostWeights = 2304;

  // The four bounds above, and no dilation along the row.
  [[nodiscard]] static bool takes(const ConvolutionShape& shape);
  FewChannelsS8(const ConvolutionShape& shape, const ConvolutionNumbers& numbers);

  void run(const std::int8_t* input, std::int8_t* output, pthreadpool_t pool) const override;
  void run_row(const std::int8_t* input, std::int8_t* output, std::size_t row) const;  // of all images

 private:
  struct Patch;
  void pack(const ConvolutionNumbers& numbers);
  void find_patch(const std::int8_t* input, std::size_t y, std::size_t x, Patch& patch) const;

  ConvolutionShape shape_;
  InnerColumns inner_;
  std::size_t row_bytes_ = 0;  // of a window
  std::size_t row_words_ = 0;  // the same in whole words of four bytes
  std::int8_t padding_ = 0;    // the input's zero point
  std::int32_t zero_ = 0;
  std::int8_t least_ = -128, most_ = 127;
  std::vector<std::int8_t> weights_;  // of each 16 outputs: word by word of the window, four bytes an output
  std::vector<std::int32_t> bias_;
  std::vector<float> factors_;
};

}  // namespace kinglet::engine::kernels
