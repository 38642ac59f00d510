// SPDX-License-Identifier: Apache-2.0
// Why: two kinds of 8-bit convolution take XNNPACK on x86-64 longer than the same in float: depthwise ones, whose bytes
// it widens to 32 bits each, and those of a picture's three channels, of whose tiles most stays empty. Processors with
// products of four bytes (AVX-512 VNNI) do both several times quicker, to the same bits. ARM cores have good kernels in
// XNNPACK; there are none for them here.
#pragma once

#include <pthreadpool.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/backend/xnnpack/checks.h"
#include "engine/graph/quantization.h"

namespace kinglet::engine::kernels {

// [batch,height,width,channels] in and out.
struct ConvolutionShape {
  std::size_t batch = 1;
  std::size_t input_height = 0, input_width = 0, input_channels = 0;
  std::size_t output_height = 0, output_width = 0, output_channels = 0;
  xnn::Window window;  // the output's size is that of its places
};

struct ConvolutionNumbers {
  std::span<const std::int8_t>
      weights;                         // as ONNX orders them: [outputs,inputs of the group,height,width]; zero point 0
  std::span<const std::int32_t> bias;  // one an output channel, or empty
  std::span<const float> scales;       // of the weights: one an output channel, or one
  LinearQuantization input, output;
  std::int8_t least = -128, most = 127;  // levels that the output is cut at

  [[nodiscard]] std::int32_t bias_of(std::size_t channel) const { return bias.empty() ? 0 : bias[channel]; }
  // What a sum is multiplied with to give the output's levels, in XNNPACK's order of rounding.
  [[nodiscard]] float factor_of(std::size_t channel) const {
    return input.scale * scales[scales.size() == 1 ? 0 : channel] / output.scale;
  }
};

// Owns its packed numbers.
class ConvolutionS8 {
 public:
  virtual ~ConvolutionS8() = default;
  // `pool` null: the caller's thread alone. Nothing is allocated. At least 64 readable bytes follow the input.
  virtual void run(const std::int8_t* input, std::int8_t* output, pthreadpool_t pool) const = 0;
};

// This processor has products of four bytes; the constructors of the kernels want it.
[[nodiscard]] bool has_byte_products();

// Calls self.run_row(input, output, row) for each row of each image.
template <typename Kernel>
void run_rows(const Kernel& self, const ConvolutionShape& shape, const std::int8_t* input, std::int8_t* output,
              pthreadpool_t pool) {
  struct Run {
    const Kernel* self;
    const std::int8_t* input;
    std::int8_t* output;
  };
  Run run{&self, input, output};
  pthreadpool_parallelize_1d(
      pool,
      [](void* context, std::size_t row) {
        const Run& of = *static_cast<const Run*>(context);
        of.self->run_row(of.input, of.output, row);
      },
      &run, shape.batch * shape.output_height, 0);
}

// The row or column of the input under a tap of an output's window; kOutside: in the padding.
inline constexpr std::size_t kOutside = static_cast<std::size_t>(-1);
[[nodiscard]] inline std::size_t input_place(std::size_t output, std::uint32_t stride, std::size_t tap,
                                             std::uint32_t dilation, std::uint32_t pad, std::size_t size) {
  const std::size_t padded = output * stride + tap * dilation;
  return padded < pad || padded - pad >= size ? kOutside : padded - pad;
}

// The columns of the output whose windows lie in the input's rows as a whole: [begin, end).
struct InnerColumns {
  std::size_t begin = 0, end = 0;
};
[[nodiscard]] InnerColumns inner_columns(const ConvolutionShape& shape);

// Modulo 2^32, as sums of 32 bits add up.
[[nodiscard]] constexpr std::int32_t wrapping_difference(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}

[[nodiscard]] constexpr std::size_t rounded_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

}  // namespace kinglet::engine::kernels
