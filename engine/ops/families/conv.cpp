// SPDX-License-Identifier: Apache-2.0
// Convolution over 1 to 3 (and more) spatial dimensions, with groups, dilations and any padding.
//   x [N,C,D1..Dn], w [M,C/group,k1..kn], b [M]  ->  [N,M,E1..En]
#include <algorithm>
#include <format>

#include "engine/ops/common.h"
#include "engine/ops/families/window.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

Result<std::optional<Shape>> conv_output(const InferContext& context) {
  KINGLET_TRY(need_rank(context, 0, 3, 8));
  KINGLET_TRY(need_rank(context, 1, 3, 8));
  const std::int64_t group = KINGLET_TRY(checked_int(context, "group", 1, 1, kMaxDim));
  const std::optional<Shape>& x = context.input_shape(0);
  const std::optional<Shape>& w = context.input_shape(1);
  if (!x || !w) return std::nullopt;
  if (x->size() != w->size()) {
    return context.fail(std::format("the input has shape {}, the weight {}", to_string(*x), to_string(*w)));
  }
  Shape out{(*x)[0], (*w)[0]};
  const std::span<const Dim> spatial = std::span(*x).subspan(2);
  if (!is_static(*w)) {
    out.resize(x->size(), kUnknownDim);
    return out;
  }
  if ((*x)[1] != kUnknownDim && (*x)[1] != (*w)[1] * group) {
    return context.fail(std::format("the input {} has {} channels, the weight {} expects {} (group {})", to_string(*x),
                                    (*x)[1], to_string(*w), (*w)[1] * group, group),
                        "export again with a fixed input size, or look with `kinglet inspect`");
  }
  if ((*w)[0] % group != 0) return context.fail(std::format("{} output channels in {} groups", (*w)[0], group));
  const std::vector<std::int64_t> kernel(w->begin() + 2, w->end());
  const std::vector<std::int64_t> declared = context.attributes().get_ints("kernel_shape");
  if (!declared.empty() && declared != kernel) {
    return context.fail(std::format("kernel_shape {} differs from the weight {}", to_string(declared), to_string(*w)));
  }
  const Window window = KINGLET_TRY(checked_window(context, kernel, spatial));
  const std::optional<Shape> sizes = window_output(window, spatial, false, pads_same(context.attributes()));
  if (!sizes) {
    return context.fail(
        std::format("the kernel {} does not fit into the padded input {}", to_string(kernel), to_string(*x)));
  }
  out.insert(out.end(), sizes->begin(), sizes->end());
  return out;
}

Result<void> infer_conv(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  KINGLET_TRY(need_type_of(context, 1, 0));
  const std::optional<Shape> out = KINGLET_TRY(conv_output(context));
  if (context.has_input(2)) {
    KINGLET_TRY(need_type_of(context, 2, 0));
    KINGLET_TRY(need_rank(context, 2, 1, 1));
    const std::optional<Shape>& bias = context.input_shape(2);
    if (bias && out && (*bias)[0] != kUnknownDim && (*out)[1] != kUnknownDim && (*bias)[0] != (*out)[1]) {
      return context.fail(std::format("the bias has {} numbers for {} output channels", (*bias)[0], (*out)[1]));
    }
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

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

// done(plane index n * M + m, channel m, sums of the plane) for each output plane.
template <typename Done>
void convolve(const ConvGeometry& geometry, std::span<const float> x, std::span<const float> w, Done done) {
  const std::int64_t taps = w.empty() ? 0 : geometry.taps;  // a weight of no numbers may name a kernel of any size
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
      const float* source = x.data() + (image * geometry.in_channels + in_channel) * geometry.in_plane;
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const auto& row = rows[static_cast<std::size_t>(tap)];
        const double factor = w[static_cast<std::size_t>((channel * in_group + c) * geometry.taps + tap)];
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

Result<void> evaluate_conv(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Tensor& weight = *inputs[1];
  const std::vector<std::int64_t> kernel(weight.shape().begin() + 2, weight.shape().end());
  const Window window = resolve_window(node.attributes, kernel, std::span(inputs[0]->shape()).subspan(2));
  const ConvGeometry geometry(inputs[0]->shape(), weight.shape(), outputs[0].shape(), window,
                              node.attributes.get_int("group", 1));
  const std::span<const float> bias =
      inputs.size() > 2 && inputs[2] ? inputs[2]->data<float>() : std::span<const float>{};
  const std::span<float> out = outputs[0].mutable_data<float>();
  convolve(geometry, inputs[0]->data<float>(), weight.data<float>(),
           [&](std::int64_t plane, std::int64_t channel, std::span<const double> sums) {
             const double start = bias.empty() ? 0.0 : bias[static_cast<std::size_t>(channel)];
             float* to = out.data() + plane * static_cast<std::int64_t>(sums.size());
             for (std::size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<float>(sums[i] + start);
           });
  return {};
}

// [O,I,kh,kw] -> [O,kh,kw,I]; shares the numbers where both orders are one.
Tensor channels_last(const Tensor& tensor, const Shape& logical) {
  if (layout_neutral(logical)) return tensor;
  Tensor out(tensor.type(), physical_shape(logical, Layout::kNhwc));
  copy_layout(logical, byte_size(tensor.type()), tensor.bytes(), Layout::kLogical, out.mutable_bytes(), Layout::kNhwc);
  return out;
}

Result<std::optional<Operand>> conv_bias(SubgraphBuilder& builder, const Graph& graph, const Node& node) {
  if (!is_given(node, 2)) return std::nullopt;
  const Tensor* bias = constant_input(graph, node, 2);
  if (bias == nullptr) return fail(ErrorCode::kBadData, "a bias that is not constant");
  return KINGLET_TRY(builder.constant(*bias, dims_of(bias->shape()), Lifetime::kUntilPacked));
}

Result<bool> lower_conv(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* weight = graph.constant(node.inputs[1]);
  if (weight == nullptr || weight->type() != DataType::kF32 || weight->shape().size() != 4) return false;
  const Shape& shape = weight->shape();
  const Shape& input_shape = *graph.value(node.inputs[0]).shape;
  const auto group = node.attributes.get_int("group", 1);
  const Window found = resolve_window(node.attributes, std::span(shape).subspan(2), std::span(input_shape).subspan(2));
  const auto window = to_xnn(found);
  if (!window) return false;

  const bool depthwise = group == input_shape[1] && group > 1;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  // A depthwise filter [C*m,1,kh,kw] is one image of C*m channels.
  const Shape logical = depthwise ? Shape{1, shape[0], shape[2], shape[3]} : shape;
  const Tensor numbers = builder.is_probe() ? *weight : channels_last(*weight, logical);
  const Operand filter =
      KINGLET_TRY(builder.constant(numbers, dims_of(physical_shape(logical, Layout::kNhwc)), Lifetime::kUntilPacked));
  const std::optional<Operand> bias = KINGLET_TRY(conv_bias(builder, graph, node));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  if (depthwise) {
    const auto multiplier = static_cast<std::size_t>(shape[0] / group);
    KINGLET_TRY(builder.depthwise_convolution(*window, multiplier, range, input, filter, bias, output));
  } else {
    KINGLET_TRY(builder.convolution(*window, static_cast<std::size_t>(group), range, input, filter, bias, output));
  }
  return true;
}

}  // namespace

const Op kConv{.op_type = "Conv",
               .min_inputs = 2,
               .max_inputs = 3,
               .infer = infer_conv,
               .evaluate = evaluate_conv,
               .lower = lower_conv,
               .layout = LayoutRule::kNhwc};

}  // namespace kinglet::engine::ops
