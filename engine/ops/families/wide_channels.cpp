// SPDX-License-Identifier: Apache-2.0
// Channels of an 8-bit layer computed anew where their weights do not fit the 8 bits of all others. Session passes make
// it; files do not hold it.
//   y, channels [D], x, x scale, x zero point, w [D,...], scale, zero point, y scale, y zero point, bias [D] or none
// y is what the layer, a QLinearConv with the attributes of this node or a product of matrices of fewer axes than a
// picture has, makes of x with cut weights; the output is y with the channels `channels` as the layer makes them of w.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "engine/graph/fused_clip.h"
#include "engine/ops/common.h"
#include "engine/ops/families/convolution_work.h"
#include "engine/ops/families/window.h"
#include "engine/ops/levels.h"
#include "engine/ops/lower.h"
#include "engine/ops/quantized.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

constexpr std::size_t kY = 0, kChannels = 1, kX = 2, kXScale = 3, kW = 5, kWScale = 6, kWZero = 7, kYScale = 8,
                      kBias = 10;

Result<void> infer_wide_channels(InferContext& context) {
  KINGLET_TRY(need_type(context, kY, {DataType::kI8}));
  KINGLET_TRY(need_type(context, kChannels, {DataType::kI64}));
  KINGLET_TRY(need_quantized(context, {.x = kX, .scale = kXScale, .zero_point = kXScale + 1}));
  KINGLET_TRY(need_quantized(context, {.x = kY, .scale = kYScale, .zero_point = kYScale + 1}));
  KINGLET_TRY(need_type(context, kX, {DataType::kI8}));
  KINGLET_TRY(need_type(context, kW, {DataType::kU8}));
  KINGLET_TRY(need_type(context, kWScale, {DataType::kF32}));
  KINGLET_TRY(need_type(context, kWZero, {DataType::kU8}));
  if (context.has_input(kBias)) KINGLET_TRY(need_type(context, kBias, {DataType::kI32}));
  const std::optional<Shape>& y = context.input_shape(kY);
  const std::optional<Shape>& x = context.input_shape(kX);
  const std::optional<Shape>& w = context.input_shape(kW);
  const std::optional<Shape>& channels = context.input_shape(kChannels);
  if (y && x && w && channels) {
    const bool picture = w->size() == 4 && y->size() == 4;
    const bool matrix = w->size() == 2 && !y->empty() && y->size() < 4;
    const bool fits =
        (picture || matrix) && x->size() == y->size() && channels->size() == 1 && (*channels)[0] == (*w)[0];
    if (!fits) return context.fail("x, y and w are pictures or matrices, and w has as many channels as are named");
  }
  context.set_output(0, DataType::kI8, y);
  return {};
}

// Each row of a matrix is a picture of one pixel.
Shape as_picture(const Shape& shape) {
  if (shape.size() == 4) return shape;
  const auto rows = element_count(std::span(shape).first(shape.size() - 1));
  return {rows.value_or(0), shape.back(), 1, 1};
}

struct Layer {
  Shape x, y, w;
  Window window;
  Dim groups = 1;
};

Layer layer_of(const Node& node, const Shape& x, const Shape& y, const Shape& w) {
  Layer layer{.x = as_picture(x), .y = as_picture(y), .w = as_picture(w), .window = {}};
  layer.window = resolve_window(node.attributes, std::span(layer.w).subspan(2), std::span(layer.x).subspan(2));
  layer.groups = layer.x[1] / layer.w[1];
  return layer;
}

// f(tap of the weight, place in a plane of the input) for those of a window that are not in the padding.
template <typename F>
void for_each_tap(const Layer& layer, Dim row, Dim column, F f) {
  for (Dim i = 0; i < layer.w[2] * layer.w[3]; ++i) {
    const auto place = [&](std::size_t axis, Dim at, Dim tap) {
      return at * layer.window.strides[axis] + tap * layer.window.dilations[axis] - layer.window.pads_begin[axis];
    };
    const Dim y = place(0, row, i / layer.w[3]);
    const Dim x = place(1, column, i % layer.w[3]);
    if (y >= 0 && y < layer.x[2] && x >= 0 && x < layer.x[3]) f(i, y * layer.x[3] + x);
  }
}

std::int64_t sum_of(const Layer& layer, Inputs inputs, Dim image, Dim wide, Dim group, Dim row, Dim column) {
  const auto x = inputs[kX]->data<std::int8_t>();
  const auto w = inputs[kW]->data<std::uint8_t>();
  const std::int32_t x_zero = zero_point_of(inputs, kXScale + 1);
  const std::int32_t w_zero = zero_point_of(inputs, kWZero);
  const Dim plane = layer.x[2] * layer.x[3];
  const Dim taps = layer.w[2] * layer.w[3];
  std::int64_t sum = 0;
  for (Dim i = 0; i < layer.w[1]; ++i) {
    const Dim from = (image * layer.x[1] + group * layer.w[1] + i) * plane;
    for_each_tap(layer, row, column, [&](Dim tap, Dim place) {
      sum += std::int64_t{x[static_cast<std::size_t>(from + place)] - x_zero} *
             (w[static_cast<std::size_t>((wide * layer.w[1] + i) * taps + tap)] - w_zero);
    });
  }
  return sum;
}

Result<void> evaluate_wide_channels(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Layer layer = layer_of(node, inputs[kX]->shape(), inputs[kY]->shape(), inputs[kW]->shape());
  const auto channels = inputs[kChannels]->data<std::int64_t>();
  const auto scales = inputs[kWScale]->data<float>();
  const Tensor* bias = input_or_null(inputs, kBias);
  const std::int32_t y_zero = zero_point_of(inputs, kYScale + 1);
  const auto to = outputs[0].mutable_data<std::int8_t>();
  std::ranges::copy(inputs[kY]->data<std::int8_t>(), to.begin());
  const Dim plane = layer.y[2] * layer.y[3];
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const float scale = scale_of(inputs, kXScale) * scales[scales.size() == 1 ? 0 : i] / scale_of(inputs, kYScale);
    const Dim group = channels[i] / (layer.y[1] / layer.groups);
    for (Dim at = 0; at < layer.y[0] * plane; ++at) {
      const Dim image = at / plane;
      const Dim place = at % plane;
      const std::int64_t sum =
          sum_of(layer, inputs, image, static_cast<Dim>(i), group, place / layer.y[3], place % layer.y[3]) +
          (bias == nullptr ? 0 : bias->data<std::int32_t>()[i]);
      to[static_cast<std::size_t>((image * layer.y[1] + channels[i]) * plane + place)] =
          requantized<std::int8_t>(static_cast<std::int32_t>(sum), scale, y_zero);
    }
  }
  return {};
}

std::optional<kernels::Work> wide_channels_work(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* channels = constant_input(graph, node, kChannels);
  const Tensor* weight = constant_input(graph, node, kW);
  const Tensor* scale = constant_input(graph, node, kWScale);
  const Tensor* zero = constant_input(graph, node, kWZero);
  const Tensor* bias = constant_input(graph, node, kBias);
  const auto input = quantization_at(graph, node, kXScale);
  const auto output = quantization_at(graph, node, kYScale);
  const bool fixed = channels != nullptr && weight != nullptr && scale != nullptr && zero != nullptr &&
                     (bias != nullptr || !is_given(node, kBias));
  if (!fixed || !input || !output) return std::nullopt;
  const auto shape_at = [&](ValueId value) { return as_picture(*graph.value(value).shape); };
  auto shape = shape_of(node, shape_at(node.inputs[kX]), as_picture(weight->shape()), shape_at(node.outputs[0]));
  if (!shape) return std::nullopt;
  shape->groups = shape->input_channels / static_cast<std::size_t>(weight->shape()[1]);
  const FusedClip clip = fused_clip(node);
  kernels::WideChannelsS8 work{
      .shape = *shape,
      .channels = {},
      .weights = {},
      .numbers = {.weights = {},
                  .bias = bias == nullptr ? std::span<const std::int32_t>() : bias->data<std::int32_t>(),
                  .scales = scale->data<float>(),
                  .input = *input,
                  .output = *output,
                  .least = level_of(clip.min, *output),
                  .most = level_of(clip.max, *output)}};
  std::ranges::transform(channels->data<std::int64_t>(), std::back_inserter(work.channels),
                         [](std::int64_t channel) { return static_cast<std::size_t>(channel); });
  std::ranges::transform(weight->data<std::uint8_t>(), std::back_inserter(work.weights),
                         [zero = zero->data<std::uint8_t>().front()](std::uint8_t level) {
                           return static_cast<std::int16_t>(level - zero);
                         });
  return kernels::Work{std::move(work)};
}

double wide_channels_steps(const Graph& graph, const Node& node) {
  const Tensor* w = constant_input(graph, node, kW);
  const int axis = w != nullptr && w->shape().size() == 2 ? -1 : 1;
  const double outputs = output_numbers(graph, node) / std::max(1.0, input_dim(graph, node, kY, axis));
  return output_numbers(graph, node) + outputs * input_numbers(graph, node, kW);
}

}  // namespace

const OpParts kWideChannels{.infer = infer_wide_channels,
                            .evaluate = evaluate_wide_channels,
                            .steps = wide_channels_steps,
                            .qlinear = {.kind = QLinearKind::kRealOnly, .a = kX, .y_scale = kYScale},
                            .work_alone = wide_channels_work};

}  // namespace kinglet::engine::ops
