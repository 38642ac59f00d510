// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/kernels/convolution_parts.h"

namespace kinglet::engine::kernels {

bool has_byte_products() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
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

}  // namespace kinglet::engine::kernels
