// SPDX-License-Identifier: Apache-2.0
// Why: the loops of element by element operators.
#pragma once

#include "engine/ops/common.h"

namespace kinglet::engine::ops {

// outputs[0] = f(inputs[0]), element by element, both of type T.
template <typename T, typename F>
Result<void> map(Inputs inputs, std::span<Tensor> outputs, F f) {
  const std::span<const T> from = inputs[0]->data<T>();
  const std::span<T> to = outputs[0].mutable_data<T>();
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = f(from[i]);
  return {};
}

// The same for floats, in double, rounded once.
template <typename F>
Result<void> map_real(Inputs inputs, std::span<Tensor> outputs, F f) {
  return map<float>(inputs, outputs, [&](float x) { return static_cast<float>(f(static_cast<double>(x))); });
}

// Whole numbers wrap around.
template <typename T>
T wrapping_product(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
}

// to = f(a, b) under broadcasting to the shape of `to`.
template <typename T, typename R, typename F>
void combine(const Tensor& a, const Tensor& b, Tensor& to, F f) {
  const std::span<const T> left = a.data<T>();
  const std::span<const T> right = b.data<T>();
  const std::span<R> out = to.mutable_data<R>();
  if (a.shape() == to.shape() && b.shape() == to.shape()) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(left[i], right[i]);
    return;
  }
  std::size_t next = 0;
  walk<2>(to.shape(), {broadcast_strides(a.shape(), to.shape()), broadcast_strides(b.shape(), to.shape())},
          [&](const std::array<std::int64_t, 2>& at) {
            out[next++] = f(left[static_cast<std::size_t>(at[0])], right[static_cast<std::size_t>(at[1])]);
          });
}

}  // namespace kinglet::engine::ops
