// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/convolve.h"

#include <algorithm>

#include "engine/base/format.h"
#include "engine/ops/families/window.h"

namespace kinglet::engine::ops {
namespace {

// --- The direct loop: an output plane at a time, row by row so that the compiler vectorises it ----------------------

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

}  // namespace

Result<std::optional<Shape>> conv_output(const InferContext& context, std::size_t x_index, std::size_t w_index) {
  KINGLET_TRY(need_rank(context, x_index, 3, 8));
  KINGLET_TRY(need_rank(context, w_index, 3, 8));
  const std::int64_t group = KINGLET_TRY(checked_int(context, "group", 1, 1, kMaxDim));
  const std::optional<Shape>& x = context.input_shape(x_index);
  const std::optional<Shape>& w = context.input_shape(w_index);
  if (!x || !w) return std::nullopt;
  if (x->size() != w->size()) {
    return context.fail(format_text("the input has shape {}, the weight {}", to_string(*x), to_string(*w)));
  }
  Shape out{(*x)[0], (*w)[0]};
  const std::span<const Dim> spatial = std::span(*x).subspan(2);
  if (!is_static(*w)) {
    out.resize(x->size(), kUnknownDim);
    return out;
  }
  if ((*x)[1] != kUnknownDim && (*x)[1] != (*w)[1] * group) {
    return context.fail(format_text("the input {} has {} channels, the weight {} expects {} (group {})", to_string(*x),
                                    (*x)[1], to_string(*w), (*w)[1] * group, group),
                        "export again with a fixed input size, or look with `kinglet inspect`");
  }
  if ((*w)[0] % group != 0) return context.fail(format_text("{} output channels in {} groups", (*w)[0], group));
  const std::vector<std::int64_t> kernel(w->begin() + 2, w->end());
  const std::vector<std::int64_t> declared = context.attributes().get_ints("kernel_shape");
  if (!declared.empty() && declared != kernel) {
    return context.fail(format_text("kernel_shape {} differs from the weight {}", to_string(declared), to_string(*w)));
  }
  const Window window = KINGLET_TRY(checked_window(context, kernel, spatial));
  const std::optional<Shape> sizes = window_output(window, spatial, false, pads_same(context.attributes()));
  if (!sizes) {
    return context.fail(
        format_text("the kernel {} does not fit into the padded input {}", to_string(kernel), to_string(*x)));
  }
  out.insert(out.end(), sizes->begin(), sizes->end());
  return out;
}

void convolve(const Attributes& attributes, const Numbers& x, const Numbers& w, const Shape& y, const PlaneDone& done) {
  const std::vector<std::int64_t> kernel(w.shape.begin() + 2, w.shape.end());
  const Window window = resolve_window(attributes, kernel, std::span(x.shape).subspan(2));
  const ConvGeometry geometry(x.shape, w.shape, y, window, attributes.get_int("group", 1));
  const std::int64_t taps =
      w.values.empty() ? 0 : geometry.taps;  // a weight of no numbers may name a kernel of any size
  std::vector<TapRows> rows;
  rows.reserve(static_cast<std::size_t>(taps));
  for (std::int64_t tap = 0; tap < taps; ++tap) rows.emplace_back(geometry, tap);
  const std::int64_t in_group = geometry.in_channels / geometry.group;
  const std::int64_t out_group = std::max<std::int64_t>(1, geometry.out_channels / geometry.group);
  std::vector<double> sums(static_cast<std::size_t>(geometry.out_plane));
  for (std::int64_t plane = 0; plane < geometry.batch * geometry.out_channels; ++plane) {
    const std::int64_t channel = plane % geometry.out_channels;
    const std::int64_t image = plane / geometry.out_channels;
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::int64_t c = 0; c < in_group; ++c) {
      const std::int64_t in_channel = channel / out_group * in_group + c;
      const float* source = x.values.data() + (image * geometry.in_channels + in_channel) * geometry.in_plane;
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const auto& row = rows[static_cast<std::size_t>(tap)];
        const double factor = w.values[static_cast<std::size_t>((channel * in_group + c) * geometry.taps + tap)];
        row.for_each([&](std::int64_t to, std::int64_t from, std::int64_t count) {
          double* out = sums.data() + to;
          const float* in = source + from;
          if (row.stride() == 1) {
            for (std::int64_t i = 0; i < count; ++i) out[i] += factor * in[i];
          } else {
            for (std::int64_t i = 0; i < count; ++i) out[i] += factor * in[i * row.stride()];
          }
        });
      }
    }
    done(plane, channel, std::span<const double>(sums));
  }
}

}  // namespace kinglet::engine::ops
