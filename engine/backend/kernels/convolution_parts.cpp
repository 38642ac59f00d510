// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/kernels/convolution_parts.h"

#include <algorithm>

namespace kinglet::engine::kernels {
namespace {

bool is_zen4() {
#if defined(__x86_64__)
  return __builtin_cpu_is("znver4") != 0;
#else
  return false;
#endif
}

}  // namespace

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

bool has_avx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
#else
  return false;
#endif
}

bool halves_take_half() { return is_zen4(); }

bool has_near_memory() { return is_zen4(); }

bool has_byte_products() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
#else
  return false;
#endif
}

bool xnnpack_has_byte_products() {
#if defined(__x86_64__)
  return has_avx512() || __builtin_cpu_supports("avxvnni") != 0;
#else
  return false;
#endif
}

bool has_byte_tiles() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("amx-int8") != 0;
#else
  return false;
#endif
}

InnerColumns inner_columns(const ConvolutionShape& shape) {
  const xnn::Window& window = shape.window;
  const auto inside = [&](std::size_t x, std::size_t tap) {
    return input_place(x, window.stride_width, tap, window.dilation_width, window.pad_left, shape.input_width) !=
           kOutside;
  };
  const auto whole = [&](std::size_t x) { return inside(x, 0) && inside(x, window.kernel_width - 1); };
  InnerColumns columns;
  while (columns.begin < shape.output_width && !whole(columns.begin)) ++columns.begin;
  columns.end = columns.begin;
  while (columns.end < shape.output_width && whole(columns.end)) ++columns.end;
  return columns;
}

double xnn_cost(const ConvolutionShape& shape, const XnnCostsS8& costs) {
  const std::size_t pixels = shape.batch * shape.output_height * shape.output_width;
  const auto tiles =
      static_cast<double>(divided_up(pixels, costs.rows) * divided_up(shape.output_channels, costs.outputs));
  const std::size_t sixteens = shape.input_channels / 16;
  const std::size_t rest = divided_up(shape.input_channels % 16, costs.numbers);
  const double tap = static_cast<double>(sixteens) * costs.sixteen + static_cast<double>(rest) * costs.least +
                     (shape.taps() > 1 ? costs.window : 0);
  return tiles * (static_cast<double>(shape.taps()) * tap + costs.end);
}

bool fits_16_bits(const ConvolutionS8& work) {
  constexpr double kMost = 32000;  // of 32767, for what rounding adds
  const ConvolutionNumbers& numbers = work.numbers;
  const std::int64_t above = 127 - numbers.input.zero_point;  // what an input may be, and below
  const std::int64_t below = 128 + numbers.input.zero_point;
  const std::size_t outputs = work.shape.output_channels;
  const std::size_t each = numbers.weights.size() / outputs;
  for (std::size_t output = 0; output < outputs; ++output) {
    std::int64_t most = numbers.bias_of(output);
    std::int64_t least = most;
    for (const std::int8_t weight : numbers.weights.subspan(output * each, each)) {
      if (weight == -128) return false;
      most += std::max(weight * above, -weight * below);
      least -= std::max(weight * below, -weight * above);
    }
    const auto farthest = static_cast<double>(std::max(most, -least));
    if (farthest * static_cast<double>(numbers.factor_of(output)) > kMost) return false;
  }
  return true;
}

}  // namespace kinglet::engine::kernels
