// SPDX-License-Identifier: Apache-2.0
// Pooling, reductions, soft-max and resizing on XNNPACK.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/backend/xnnpack/subgraph_builder.h"
#include "engine/ops/lower.h"
#include "engine/ops/lower_window.h"

namespace kinglet::engine::ops {
namespace {

using xnn::Dims;
using xnn::Operand;
using xnn::SubgraphBuilder;

struct Pool {
  xnn::Window window;   // with what ceil_mode reaches beyond added at the end
  bool beyond = false;  // ceil_mode reaches beyond
};

std::uint32_t reach_beyond(std::size_t size, std::uint32_t pads, std::uint32_t kernel, std::uint32_t stride,
                           std::uint32_t dilation, std::size_t output) {
  const std::size_t needed = (output - 1) * stride + (kernel - std::size_t{1}) * dilation + 1;
  return needed > size + pads ? static_cast<std::uint32_t>(needed - size - pads) : 0;
}

std::optional<Pool> pool_of(const Graph& graph, const Node& node) {
  const Shape& input = *graph.value(node.inputs[0]).shape;
  const Shape& output = *graph.value(node.outputs[0]).shape;
  const auto kernel = node.attributes.get_ints("kernel_shape");
  if (input.size() != 4 || output.size() != 4 || kernel.size() != 2 || output[2] < 1 || output[3] < 1)
    return std::nullopt;
  auto window = to_xnn(resolve_window(node.attributes, kernel, std::span(input).subspan(2)));
  if (!window) return std::nullopt;
  const auto below =
      reach_beyond(static_cast<std::size_t>(input[2]), window->pad_top + window->pad_bottom, window->kernel_height,
                   window->stride_height, window->dilation_height, static_cast<std::size_t>(output[2]));
  const auto right =
      reach_beyond(static_cast<std::size_t>(input[3]), window->pad_left + window->pad_right, window->kernel_width,
                   window->stride_width, window->dilation_width, static_cast<std::size_t>(output[3]));
  window->pad_bottom += below;
  window->pad_right += right;
  return Pool{.window = *window, .beyond = below + right > 0};
}

bool has_pads(const xnn::Window& w) { return w.pad_top + w.pad_bottom + w.pad_left + w.pad_right > 0; }

// The input with its padding written out, so that padding counts in the average.
Result<Operand> padded(SubgraphBuilder& builder, Operand input, xnn::Window& window) {
  const Dims before{0, window.pad_top, window.pad_left, 0};
  const Dims after{0, window.pad_bottom, window.pad_right, 0};
  Dims dims = builder.dims(input);
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] += before[i] + after[i];
  const Operand out = KINGLET_TRY(builder.temporary(dims));
  KINGLET_TRY(builder.pad(before, after, 0, input, out));
  window.pad_top = window.pad_bottom = window.pad_left = window.pad_right = 0;
  return out;
}

// Constant axes of input 1, or all; logical, sorted. Nothing when they are computed or the node does nothing.
std::optional<std::vector<std::size_t>> reduced_axes(const Graph& graph, const Node& node, std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (node.inputs.size() > 1 && node.inputs[1] != kNoValue) {
    const Tensor* tensor = graph.constant(node.inputs[1]);
    if (tensor == nullptr) return std::nullopt;
    if (tensor->element_count() > 0) {
      axes.clear();
      for (const std::int64_t axis : tensor->to_int64s()) axes.push_back(axis_index(axis, rank));
    } else if (node.attributes.get_int("noop_with_empty_axes", 0) != 0) {
      return std::nullopt;
    }
  } else if (node.attributes.get_int("noop_with_empty_axes", 0) != 0) {
    return std::nullopt;
  }
  std::ranges::sort(axes);
  return axes;
}

// The axes left over have the same order in memory as in the shape.
bool keeps_order(const std::vector<std::size_t>& physical_axes, Layout layout) {
  if (layout == Layout::kLogical) return true;
  std::vector<std::size_t> left;
  for (std::size_t place = 0; place < 4; ++place) {
    if (!std::ranges::contains(physical_axes, place)) left.push_back(logical_axis(place, layout));
  }
  return std::ranges::is_sorted(left);
}

std::vector<std::size_t> to_physical(const std::vector<std::size_t>& axes, Layout layout) {
  std::vector<std::size_t> out;
  for (const std::size_t axis : axes) out.push_back(physical_axis(axis, layout));
  std::ranges::sort(out);
  return out;
}

Result<bool> lower_reduce(SubgraphBuilder& builder, const Graph& graph, NodeId id, xnn_reduce_operator type) {
  const Node& node = graph.node(id);
  const ValueId value = node.inputs[0];
  const auto axes = reduced_axes(graph, node, graph.value(value).shape->size());
  if (!axes || axes->empty()) return false;
  const bool keep = node.attributes.get_int("keepdims", 1) != 0;
  if (!keep && axes->size() == graph.value(value).shape->size()) return false;
  Layout layout = keep ? builder.layout(node.outputs[0]) : builder.layout(value);
  if (!keep && !keeps_order(to_physical(*axes, layout), layout)) layout = Layout::kLogical;
  const Operand input = KINGLET_TRY(builder.input(value, layout));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.reduce(type, to_physical(*axes, layout), keep, input, output));
  return true;
}

// Soft-max of the last axis of `dims` reached by moving `axis` there.
Result<void> softmax_of_moved(SubgraphBuilder& builder, std::size_t axis, Operand input, Operand output) {
  const std::size_t last = builder.dims(input).size() - 1;
  Dims swap(last + 1);
  std::iota(swap.begin(), swap.end(), 0);
  std::swap(swap[axis], swap[last]);
  Dims moved = builder.dims(input);
  std::swap(moved[axis], moved[last]);
  const Operand before = KINGLET_TRY(builder.temporary(moved));
  const Operand after = KINGLET_TRY(builder.temporary(moved));
  KINGLET_TRY(builder.transpose(swap, input, before));
  KINGLET_TRY(builder.softmax(before, after));
  return builder.transpose(swap, after, output);
}

std::optional<SubgraphBuilder::ResizeGrid> grid_of(const Node& node, const Shape& output) {
  const auto mode = node.attributes.get_string("coordinate_transformation_mode", "half_pixel");
  if (mode == "half_pixel") return SubgraphBuilder::ResizeGrid::kHalfPixel;
  if (mode == "pytorch_half_pixel" && output[2] > 1 && output[3] > 1) return SubgraphBuilder::ResizeGrid::kHalfPixel;
  if (mode == "align_corners") return SubgraphBuilder::ResizeGrid::kAlignCorners;
  if (mode == "asymmetric") return SubgraphBuilder::ResizeGrid::kAsymmetric;
  return std::nullopt;
}

// XNNPACK takes the ratio of the sizes for the scale: right when the scales give exactly these sizes.
bool scales_are_exact(const Graph& graph, const Node& node, const Shape& input, const Shape& output) {
  if (node.attributes.find("axes") != nullptr) return false;
  if (node.inputs.size() > 3 && node.inputs[3] != kNoValue) {
    return node.attributes.get_string("keep_aspect_ratio_policy", "stretch") == "stretch";
  }
  const Tensor* scales = node.inputs.size() > 2 ? graph.constant(node.inputs[2]) : nullptr;
  if (scales == nullptr || scales->type() != DataType::kF32 || scales->element_count() != 4) return false;
  const auto numbers = scales->data<float>();
  for (std::size_t i = 0; i < 4; ++i) {
    if (static_cast<double>(input[i]) * static_cast<double>(numbers[i]) != static_cast<double>(output[i])) return false;
  }
  return true;
}

}  // namespace

Result<bool> lower_max_pool(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue) return false;
  const auto pool = pool_of(graph, node);
  if (!pool) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.max_pooling(pool->window, range, input, output));
  return true;
}

Result<bool> lower_average_pool(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  auto pool = pool_of(graph, node);
  if (!pool) return false;
  // Where ceil_mode reaches beyond the padding, those elements do not count, but padding does.
  const auto padding = resolve_window(node.attributes, node.attributes.get_ints("kernel_shape"),
                                      std::span(*graph.value(node.inputs[0]).shape).subspan(2));
  const bool explicit_pads = std::ranges::any_of(padding.pads_begin, [](auto pad) { return pad > 0; }) ||
                             std::ranges::any_of(padding.pads_end, [](auto pad) { return pad > 0; });
  const bool counts = node.attributes.get_int("count_include_pad", 0) != 0 && explicit_pads;
  if (counts && pool->beyond) return false;
  Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  if (counts && has_pads(pool->window)) input = KINGLET_TRY(padded(builder, input, pool->window));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.average_pooling(pool->window, range, input, output));
  return true;
}

Result<bool> lower_global_average_pool(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.reduce(xnn_reduce_mean, {1, 2}, true, input, output));
  return true;
}

Result<bool> lower_global_max_pool(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  const Dims dims = builder.dims(input);
  const xnn::Window window{.kernel_height = static_cast<std::uint32_t>(dims[1]),
                           .kernel_width = static_cast<std::uint32_t>(dims[2])};
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.max_pooling(window, range, input, output));
  return true;
}

Result<bool> lower_reduce_mean(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_reduce(builder, graph, id, xnn_reduce_mean);
}

Result<bool> lower_reduce_sum(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  return lower_reduce(builder, graph, id, xnn_reduce_sum);
}

Result<bool> lower_softmax(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& shape = *graph.value(node.inputs[0]).shape;
  if (shape.empty()) return false;
  const Layout layout = builder.layout(node.outputs[0]);
  const std::size_t axis = physical_axis(axis_index(node.attributes.get_int("axis", -1), shape.size()), layout);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], layout));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  const Dims dims = builder.dims(input);
  if (axis + 1 == dims.size()) {
    KINGLET_TRY(builder.softmax(input, output));
  } else if (std::all_of(dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, dims.end(),
                         [](auto dim) { return dim == 1; })) {
    const Dims flat(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1);
    const Operand before = KINGLET_TRY(builder.temporary(flat));
    const Operand after = KINGLET_TRY(builder.temporary(flat));
    KINGLET_TRY(builder.reshape(input, before));
    KINGLET_TRY(builder.softmax(before, after));
    KINGLET_TRY(builder.reshape(after, output));
  } else {
    KINGLET_TRY(softmax_of_moved(builder, axis, input, output));
  }
  return true;
}

Result<bool> lower_resize(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& input_shape = *graph.value(node.inputs[0]).shape;
  const Shape& output_shape = *graph.value(node.outputs[0]).shape;
  if (input_shape.size() != 4 || node.attributes.get_string("mode", "nearest") != "linear") return false;
  if (node.attributes.get_int("antialias", 0) != 0 || node.attributes.get_int("exclude_outside", 0) != 0) return false;
  const auto grid = grid_of(node, output_shape);
  if (!grid || !scales_are_exact(graph, node, input_shape, output_shape)) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.resize_bilinear(*grid, input, output));
  return true;
}

}  // namespace kinglet::engine::ops
