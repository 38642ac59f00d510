// SPDX-License-Identifier: Apache-2.0
// Why: a node as kernels of kinglet's own see it, without graph or operator: what a kernel is asked an offer for.
// Numbers are borrowed from the graph or shared with it; nothing is copied, and float weights are not read, until a
// kernel is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "engine/backend/xnnpack/checks.h"
#include "engine/graph/quantization.h"
#include "engine/graph/tensor.h"

namespace kinglet::engine::kernels {

// [batch,height,width,channels] in and out.
struct ConvolutionShape {
  std::size_t batch = 1;
  std::size_t input_height = 0, input_width = 0, input_channels = 0;
  std::size_t output_height = 0, output_width = 0, output_channels = 0;
  std::size_t groups = 1;
  xnn::Window window;  // the output's size is that of its places
  // Where its outputs lie among others: numbers from one pixel's to the next one's. 0: they lie side by side.
  std::size_t output_step = 0;

  [[nodiscard]] std::size_t taps() const { return std::size_t{window.kernel_height} * window.kernel_width; }
  [[nodiscard]] std::size_t pixel_step() const { return output_step == 0 ? output_channels : output_step; }
  [[nodiscard]] std::size_t outputs() const { return batch * output_height * output_width * output_channels; }
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

// int8 in, int8 out, by whole numbers. One input, one output.
struct ConvolutionS8 {
  ConvolutionShape shape;
  ConvolutionNumbers numbers;
};

// Channels of a ConvolutionS8's output computed anew, with weights of nine bits; the others stay. Two inputs: that
// output, and what the convolution reads. One output, of the first input's shape.
struct WideChannelsS8 {
  ConvolutionShape shape;             // of the whole convolution
  std::vector<std::size_t> channels;  // of the output, rising
  std::vector<std::int16_t> weights;  // of those, as ONNX orders them; zero point 0
  ConvolutionNumbers numbers;         // without weights: bias and scales are those channels', or one
};

// float in, float out, and at the end what else a block of a network has there: an addition, a clip. One input, or two
// where `adds`: the second, of the output's shape, is added to the sum.
struct ConvolutionF32 {
  ConvolutionShape shape;
  Tensor weights;               // f32, as ONNX orders them: [outputs,inputs of the group,height,width]; read to pack
  std::span<const float> bias;  // one an output channel, or empty
  bool adds = false;
  xnn::Range range;  // that the output is cut at
};

// The same in float16: what comes in and goes out, each product's sum, and bias and weights, which are rounded to it.
struct ConvolutionF16 : ConvolutionF32 {};

// The same of an input that lies in float32 and is rounded to float16 before anything else. Adds nothing.
struct ConvolutionF32ToF16 : ConvolutionF32 {};

// Rows of numbers times constant weights, and a bias: a matrix product. One input, one output, rows one behind the
// other.
struct ProductF32 {
  std::size_t rows = 1, numbers = 0, outputs = 0;
  Tensor weights;               // f32 [numbers,outputs]; read to pack
  bool outputs_first = false;   // [outputs,numbers]
  std::span<const float> bias;  // one an output, or empty
};

// x * sigmoid(x) of each number. One input, one output, which lie alike.
struct SiluF32 {
  std::size_t count = 0;
};

// Pixels that are repeated or left out: output pixel [y,x] is input pixel [rows[y],columns[x]]. One input, one output.
struct Nearest {
  std::size_t batch = 1;
  std::size_t input_height = 0, input_width = 0;
  std::size_t pixel_bytes = 0;               // of all channels, whatever their type
  std::vector<std::uint32_t> rows, columns;  // one an output row and column, each below the input's
};

// One alternative a kind of work.
struct Work {
  std::variant<ConvolutionS8, WideChannelsS8, ConvolutionF32, ConvolutionF16, ConvolutionF32ToF16, ProductF32, SiluF32,
               Nearest>
      kind;
  bool saves_memory = false;  // the model has many weights: what a kernel keeps beyond them has to win the more

  // How many a kernel is given.
  [[nodiscard]] std::size_t inputs() const {
    const auto* single = std::get_if<ConvolutionF32>(&kind);
    const auto* half = std::get_if<ConvolutionF16>(&kind);
    const bool adds = (single != nullptr && single->adds) || (half != nullptr && half->adds);
    return adds || std::holds_alternative<WideChannelsS8>(kind) ? 2 : 1;
  }
  // In float16; nothing: no kernel has such work so.
  [[nodiscard]] std::optional<Work> in_halves() const {
    const auto* convolution = std::get_if<ConvolutionF32>(&kind);
    if (convolution == nullptr) return std::nullopt;
    return Work{.kind = ConvolutionF16{*convolution}, .saves_memory = saves_memory};
  }
  // Of what is in float16, the same of an input in float32; nothing as above.
  [[nodiscard]] std::optional<Work> from_floats() const {
    const auto* convolution = std::get_if<ConvolutionF16>(&kind);
    if (convolution == nullptr || convolution->adds) return std::nullopt;
    return Work{.kind = ConvolutionF32ToF16{*convolution}, .saves_memory = saves_memory};
  }
};

}  // namespace kinglet::engine::kernels
