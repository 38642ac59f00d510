// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/families/convolution_work.h"

#include <algorithm>
#include <cmath>

#include "engine/graph/fused_clip.h"
#include "engine/ops/families/window.h"
#include "engine/ops/levels.h"
#include "engine/ops/lower.h"

namespace kinglet::engine::ops {

namespace {

// Where QLinearConv lists them.
constexpr std::size_t kX = 0, kXScale = 1, kW = 3, kWScale = 4, kWZero = 5, kYScale = 6, kBias = 8;

std::optional<kernels::ConvolutionShape> shape_with(const Graph& graph, const Node& node, const Tensor& weight) {
  return shape_of(node, *graph.value(node.inputs[kX]).shape, weight.shape(), *graph.value(node.outputs[0]).shape);
}

std::optional<kernels::ConvolutionNumbers> numbers_of(const Graph& graph, const Node& node, const Tensor& weight) {
  const Tensor* scale = constant_input(graph, node, kWScale);
  const Tensor* zero = constant_input(graph, node, kWZero);
  const Tensor* bias = constant_input(graph, node, kBias);
  if (scale == nullptr || zero == nullptr || !is_all_zero(*zero) || (is_given(node, kBias) && bias == nullptr))
    return std::nullopt;
  const auto input = quantization_at(graph, node, kXScale);
  const auto output = quantization_at(graph, node, kYScale);
  if (!input || !output || quantization_of(graph, node.inputs[kX]) != input) return std::nullopt;
  const FusedClip clip = fused_clip(node);
  return kernels::ConvolutionNumbers{
      .weights = weight.data<std::int8_t>(),
      .bias = bias == nullptr ? std::span<const std::int32_t>() : bias->data<std::int32_t>(),
      .scales = scale->data<float>(),
      .input = *input,
      .output = *output,
      .least = level_of(clip.min, *output),
      .most = level_of(clip.max, *output)};
}

}  // namespace

std::int8_t level_of(float bound, const LinearQuantization& of) {
  const float level = bound / of.scale + static_cast<float>(of.zero_point);
  return static_cast<std::int8_t>(std::lrintf(std::clamp(level, -128.0F, 127.0F)));
}

std::optional<kernels::ConvolutionShape> shape_of(const Node& node, const Shape& x, const Shape& weight,
                                                  const Shape& y) {
  if (x.size() != 4 || weight.size() != 4) return std::nullopt;
  const auto kernel = std::span(weight).subspan(2);
  const auto window = to_xnn(resolve_window(node.attributes, kernel, std::span(x).subspan(2)));
  if (!window) return std::nullopt;
  const Dims in = dims_of(x);
  const Dims out = dims_of(y);
  return kernels::ConvolutionShape{.batch = in[0],
                                   .input_height = in[2],
                                   .input_width = in[3],
                                   .input_channels = in[1],
                                   .output_height = out[2],
                                   .output_width = out[3],
                                   .output_channels = out[1],
                                   .groups = static_cast<std::size_t>(node.attributes.get_int("group", 1)),
                                   .window = *window};
}

std::optional<kernels::Work> float_convolution_work(const Graph& graph, NodeId id) {
  constexpr std::size_t kWeight = 1;
  constexpr std::size_t kFloatBias = 2;
  const Node& node = graph.node(id);
  const Tensor* weight = constant_input(graph, node, kWeight);
  const Tensor* bias = constant_input(graph, node, kFloatBias);
  if (weight == nullptr || weight->type() != DataType::kF32 || (is_given(node, kFloatBias) && bias == nullptr))
    return std::nullopt;
  const auto shape = shape_with(graph, node, *weight);
  if (!shape) return std::nullopt;
  const FusedClip clip = fused_clip(node);
  return kernels::Work{kernels::ConvolutionF32{.shape = *shape,
                                               .weights = *weight,
                                               .bias = bias == nullptr ? std::span<const float>() : bias->data<float>(),
                                               .range = {.min = clip.min, .max = clip.max}}};
}

std::optional<kernels::Work> convolution_work(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* weight = constant_input(graph, node, kW);
  const auto is_i8 = [&](ValueId value) { return graph.value(value).type == DataType::kI8; };
  if (!runs_in_integers(node) || weight == nullptr || weight->type() != DataType::kI8 || !is_i8(node.inputs[kX]) ||
      !is_i8(node.outputs[0])) {
    return std::nullopt;
  }
  const auto shape = shape_with(graph, node, *weight);
  const auto numbers = numbers_of(graph, node, *weight);
  if (!shape || !numbers) return std::nullopt;
  return kernels::Work{kernels::ConvolutionS8{.shape = *shape, .numbers = *numbers}};
}

}  // namespace kinglet::engine::ops
