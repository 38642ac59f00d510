// SPDX-License-Identifier: Apache-2.0
// Why: one direct convolution loop for every element type: an output plane at a time, in an accumulator the caller
// names (double for floats, int64 for integers), row by row so that the compiler vectorises it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/graph/shape.h"
#include "engine/ops/common.h"
#include "engine/ops/window.h"

namespace kinglet::engine::ops {

// Output shape of Conv, QLinearConv and ConvInteger from inputs `x_input` and `w_input`, all attributes checked.
[[nodiscard]] Result<std::optional<Shape>> conv_output(const InferContext& context, std::size_t x_input,
                                                       std::size_t w_input);

// Static sizes of one convolution, the spatial dimensions split into rows and their places.
class ConvGeometry {
 public:
  ConvGeometry(const Shape& x, const Shape& w, const Shape& y, Window window_, std::int64_t group_)
      : window(std::move(window_)),
        group(group_),
        batch(x[0]),
        in_channels(x[1]),
        out_channels(w[0]),
        in_spatial(x.begin() + 2, x.end()),
        out_spatial(y.begin() + 2, y.end()),
        in_plane(*element_count(in_spatial)),
        out_plane(*element_count(out_spatial)),
        taps(*element_count(window.kernel)) {
    const auto all = [](const std::vector<std::int64_t>& values, std::int64_t wanted) {
      return std::ranges::all_of(values, [=](std::int64_t value) { return value == wanted; });
    };
    if (taps != 1 || !all(window.strides, 1) || !all(window.pads_begin, 0) || !all(window.pads_end, 0)) return;
    in_spatial = {in_plane};  // a pointwise convolution has one long row
    out_spatial = {out_plane};
    window = {.kernel = {1}, .strides = {1}, .dilations = {1}, .pads_begin = {0}, .pads_end = {0}};
  }

  Window window;
  std::int64_t group;
  std::int64_t batch, in_channels, out_channels;
  std::vector<std::int64_t> in_spatial, out_spatial;
  std::int64_t in_plane, out_plane, taps;
};

// For one tap of the kernel: where each output row reads its input row, and which outputs of a row lie inside.
class TapRows {
 public:
  TapRows(const ConvGeometry& geometry, std::int64_t tap) : geometry_(geometry) {
    const std::size_t rank = geometry.in_spatial.size();
    offsets_.resize(rank);
    for (std::size_t axis = rank; axis-- > 0;) {
      offsets_[axis] =
          tap % geometry.window.kernel[axis] * geometry.window.dilations[axis] - geometry.window.pads_begin[axis];
      tap /= geometry.window.kernel[axis];
    }
    const std::size_t last = rank - 1;
    stride_ = geometry.window.strides[last];
    const std::int64_t before = -offsets_[last];
    first_ = before > 0 ? (before + stride_ - 1) / stride_ : 0;
    const std::int64_t room = geometry.in_spatial[last] - offsets_[last];
    end_ = std::clamp<std::int64_t>(room > 0 ? (room + stride_ - 1) / stride_ : 0, first_, std::max(first_, width()));
    end_ = std::min(end_, width());
  }

  // f(first output of the run, its input, length): both offsets within their planes.
  template <typename F>
  void for_each(F f) const {
    if (first_ >= end_) return;
    const std::size_t last = offsets_.size() - 1;
    const std::int64_t rows = width() == 0 ? 0 : geometry_.out_plane / width();
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t rest = row;
      std::int64_t input = 0;
      std::int64_t scale = geometry_.in_spatial[last];
      bool inside = true;
      for (std::size_t axis = last; axis-- > 0;) {
        const std::int64_t at = rest % geometry_.out_spatial[axis] * geometry_.window.strides[axis] + offsets_[axis];
        rest /= geometry_.out_spatial[axis];
        inside = inside && at >= 0 && at < geometry_.in_spatial[axis];
        input += at * scale;
        scale *= geometry_.in_spatial[axis];
      }
      if (inside) f(row * width() + first_, input + first_ * stride_ + offsets_[last], end_ - first_);
    }
  }
  [[nodiscard]] std::int64_t stride() const { return stride_; }

 private:
  [[nodiscard]] std::int64_t width() const { return geometry_.out_spatial.back(); }

  const ConvGeometry& geometry_;
  std::vector<std::int64_t> offsets_;
  std::int64_t stride_ = 1, first_ = 0, end_ = 0;
};

// done(plane index n * M + m, channel m, sums of the plane) for each output plane.
template <typename X, typename W, typename Sum, typename Done>
void convolve(const ConvGeometry& geometry, std::span<const X> x, std::span<const W> w, Done done) {
  std::vector<TapRows> rows;
  for (std::int64_t tap = 0; tap < geometry.taps; ++tap) rows.emplace_back(geometry, tap);
  const std::int64_t in_group = geometry.in_channels / geometry.group;
  const std::int64_t out_group = std::max<std::int64_t>(1, geometry.out_channels / geometry.group);
  std::vector<Sum> sums(static_cast<std::size_t>(geometry.out_plane));
  for (std::int64_t plane = 0; plane < geometry.batch * geometry.out_channels; ++plane) {
    const std::int64_t channel = plane % geometry.out_channels;
    const std::int64_t image = plane / geometry.out_channels;
    std::fill(sums.begin(), sums.end(), Sum{});
    for (std::int64_t c = 0; c < in_group; ++c) {
      const std::int64_t in_channel = channel / out_group * in_group + c;
      const X* source = x.data() + (image * geometry.in_channels + in_channel) * geometry.in_plane;
      for (std::int64_t tap = 0; tap < geometry.taps; ++tap) {
        const auto& row = rows[static_cast<std::size_t>(tap)];
        const Sum factor =
            static_cast<Sum>(w[static_cast<std::size_t>((channel * in_group + c) * geometry.taps + tap)]);
        row.for_each([&](std::int64_t to, std::int64_t from, std::int64_t count) {
          Sum* out = sums.data() + to;
          const X* in = source + from;
          if (row.stride() == 1) {
            for (std::int64_t i = 0; i < count; ++i) out[i] += factor * static_cast<Sum>(in[i]);
          } else {
            for (std::int64_t i = 0; i < count; ++i) out[i] += factor * static_cast<Sum>(in[i * row.stride()]);
          }
        });
      }
    }
    done(plane, channel, std::span<const Sum>(sums));
  }
}

}  // namespace kinglet::engine::ops
