// SPDX-License-Identifier: Apache-2.0
// Why: see convolution_s8.h. One filter a channel: the bytes of four taps are woven together, so that one product of
// four bytes is of one channel.
#pragma once

#include <array>
#include <vector>

#include "engine/backend/kernels/convolution_s8.h"

namespace kinglet::engine::kernels {

class DepthwiseS8 final : public ConvolutionS8 {
 public:
  static constexpr std::size_t kMostTaps = 64;  // of a filter

  // As many channels out as in; the window has kMostTaps at most.
  DepthwiseS8(const ConvolutionShape& shape, const ConvolutionNumbers& numbers);

  void run(const std::int8_t* input, std::int8_t* output, pthreadpool_t pool) const override;
  void run_row(const std::int8_t* input, std::int8_t* output, std::size_t row) const;  // of all images

 private:
  using Taps = std::array<const std::int8_t*, kMostTaps>;
  void pack(const ConvolutionNumbers& numbers);
  [[nodiscard]] std::size_t pixels_of(std::size_t block) const;  // that share it
  void find_taps(const std::int8_t* input, std::size_t y, std::size_t x, Taps& taps) const;

  ConvolutionShape shape_;
  InnerColumns inner_;
  std::size_t taps_ = 0;  // of a filter, in whole groups of four
  std::int16_t zero_ = 0;
  std::int8_t least_ = -128, most_ = 127;
  std::vector<std::int8_t> padding_;  // a row of the input's zero point
  std::vector<std::int8_t> weights_;  // of each block of channels: groups of four taps, as the kernel weaves them
  std::vector<std::int32_t> bias_;
  std::vector<float> factors_;
};

}  // namespace kinglet::engine::kernels
