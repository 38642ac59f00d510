// SPDX-License-Identifier: Apache-2.0
// Pooling over sliding windows and over whole planes.  x [N,C,D1..Dn] -> [N,C,E1..En]
// Padding never counts for a maximum; for an average it counts as zeros only with count_include_pad, and what
// ceil_mode adds beyond the padding never does (but see average_pool).
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/families/either_kind.h"
#include "engine/ops/families/window.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {

Result<std::optional<Shape>> pool_output(const InferContext& context) {
  const std::vector<std::int64_t> kernel = context.attributes().get_ints("kernel_shape");
  if (kernel.empty()) return context.fail("attribute kernel_shape is missing");
  KINGLET_TRY(need_rank(context, 0, 3, 8));
  const std::optional<Shape>& x = context.input_shape(0);
  if (!x) return std::nullopt;
  const std::span<const Dim> spatial = std::span(*x).subspan(2);
  const Window window = KINGLET_TRY(checked_window(context, kernel, spatial));
  const bool ceil_mode = context.attributes().get_int("ceil_mode", 0) != 0;
  const std::optional<Shape> sizes = window_output(window, spatial, ceil_mode, pads_same(context.attributes()));
  if (!sizes) {
    return context.fail(
        format_text("the window {} does not fit into the padded input {}", to_string(kernel), to_string(*x)));
  }
  Shape out{(*x)[0], (*x)[1]};
  out.insert(out.end(), sizes->begin(), sizes->end());
  return out;
}

namespace {

Result<void> infer_max_pool(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, {DataType::kF32, DataType::kF16, DataType::kI8, DataType::kU8}));
  const std::optional<Shape> out = KINGLET_TRY(pool_output(context));
  context.set_output(0, context.input_type(0), out);
  context.set_output(1, DataType::kI64, out);
  return {};
}

Result<void> infer_pool(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  context.set_output(0, context.input_type(0), KINGLET_TRY(pool_output(context)));
  return {};
}

Result<void> infer_lp_pool(InferContext& context) {
  KINGLET_TRY(checked_int(context, "p", 2, 1, 1 << 16));
  return infer_pool(context);
}

// What one window sees of a plane.
struct Cells {
  std::vector<std::int64_t> inside;  // offsets within the plane
  std::int64_t padded = 0;           // taps within the input and its padding
};

// Calls f(output offset within a plane, cells) for each output place of one plane.
template <typename F>
void for_each_window(const Window& window, std::span<const Dim> in, std::span<const Dim> out, F f) {
  const std::vector<std::int64_t> strides = row_major_strides(in);
  const std::array<std::vector<std::int64_t>, 0> none{};
  std::int64_t place = 0;
  std::vector<Dim> at(out.size(), 0);
  Cells cells;
  walk<0>(out, none, [&](const auto& /*offsets*/) {
    cells.inside.clear();
    cells.padded = 0;
    std::vector<Dim> tap(in.size(), 0);
    walk<0>(window.kernel, none, [&](const auto& /*unused*/) {
      bool inside = true;
      bool padded = true;
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < in.size(); ++axis) {
        const std::int64_t where =
            at[axis] * window.strides[axis] + tap[axis] * window.dilations[axis] - window.pads_begin[axis];
        inside = inside && where >= 0 && where < in[axis];
        padded = padded && where < in[axis] + window.pads_end[axis];
        offset += where * strides[axis];
      }
      if (inside) cells.inside.push_back(offset);
      if (padded) ++cells.padded;
      for (std::size_t axis = in.size(); axis-- > 0;) {
        if (++tap[axis] < window.kernel[axis]) break;
        tap[axis] = 0;
      }
    });
    f(place++, cells);
    for (std::size_t axis = out.size(); axis-- > 0;) {
      if (++at[axis] < out[axis]) break;
      at[axis] = 0;
    }
  });
}

struct Planes {
  std::span<const Dim> in, out;
  std::int64_t count, in_size, out_size;
  Planes(const Tensor& x, const Tensor& y)
      : in(std::span(x.shape()).subspan(2)),
        out(std::span(y.shape()).subspan(2)),
        count(x.shape()[0] * x.shape()[1]),
        in_size(*element_count(in)),
        out_size(*element_count(out)) {}
};

Window window_of(const Attributes& attributes, const Tensor& x) {
  return resolve_window(attributes, attributes.get_ints("kernel_shape"), std::span(x.shape()).subspan(2));
}

// Indices count in the whole input tensor; storage_order 1 counts the two spatial axes column by column.
std::int64_t index_of(const Planes& planes, std::int64_t plane, std::int64_t offset, bool column_major) {
  if (column_major && planes.in.size() == 2) {
    const std::int64_t row = offset / planes.in[1];
    offset = offset % planes.in[1] * planes.in[0] + row;
  }
  return plane * planes.in_size + offset;
}

template <typename T>
void max_pool(const Node& node, const Tensor& x, std::span<Tensor> outputs) {
  const Planes planes(x, outputs[0]);
  const bool column_major = node.attributes.get_int("storage_order", 0) != 0;
  const auto from = x.data<T>();
  const auto to = outputs[0].mutable_data<T>();
  const auto indices = outputs.size() > 1 ? outputs[1].mutable_data<std::int64_t>() : std::span<std::int64_t>{};
  for_each_window(window_of(node.attributes, x), planes.in, planes.out, [&](std::int64_t place, const Cells& cells) {
    for (std::int64_t plane = 0; plane < planes.count; ++plane) {
      const T* source = from.data() + plane * planes.in_size;
      T best =
          std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
      std::int64_t best_at = cells.inside.empty() ? 0 : cells.inside.front();
      for (const std::int64_t cell : cells.inside) {
        const T value = source[cell];
        if (value > best || (value != value && best == best)) {
          best = value;
          best_at = cell;
        }
      }
      const auto out = static_cast<std::size_t>(plane * planes.out_size + place);
      to[out] = best;
      if (!indices.empty()) indices[out] = index_of(planes, plane, best_at, column_major);
    }
  });
}

Result<void> evaluate_max_pool(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  visit_type(inputs[0]->type(), [&]<typename T>() {
    if constexpr (!std::is_same_v<T, bool>) max_pool<T>(node, *inputs[0], outputs);
  });
  return {};
}

// to = finish(sum of f(value) over the window, cells)
template <typename F, typename Finish>
void sum_pool(const Attributes& attributes, const Tensor& x, Tensor& y, F f, Finish finish) {
  const Planes planes(x, y);
  const auto from = x.data<float>();
  const auto to = y.mutable_data<float>();
  for_each_window(window_of(attributes, x), planes.in, planes.out, [&](std::int64_t place, const Cells& cells) {
    for (std::int64_t plane = 0; plane < planes.count; ++plane) {
      const float* source = from.data() + plane * planes.in_size;
      double sum = 0;
      for (const std::int64_t cell : cells.inside) sum += f(static_cast<double>(source[cell]));
      to[static_cast<std::size_t>(plane * planes.out_size + place)] = static_cast<float>(finish(sum, cells));
    }
  });
}

Result<void> evaluate_average_pool(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  average_pool(node.attributes, *inputs[0], outputs[0]);
  return {};
}

Result<void> evaluate_lp_pool(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const auto p = static_cast<double>(node.attributes.get_int("p", 2));
  sum_pool(
      node.attributes, *inputs[0], outputs[0], [=](double x) { return std::pow(std::abs(x), p); },
      [=](double sum, const Cells& /*cells*/) { return std::pow(sum, 1 / p); });
  return {};
}

// --- Windows on XNNPACK ----------------------------------------------------------------------------------------------

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
  const bool maximum = node.op_type == "MaxPool";  // averages count otherwise where there is any dilation
  if (maximum && window->kernel_height == 1) window->dilation_height = 1;
  if (maximum && window->kernel_width == 1) window->dilation_width = 1;
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

// XNNPACK has no pools of one element; without stride they change nothing.
bool is_copy(const xnn::Window& w) {
  return w.kernel_height * std::size_t{w.kernel_width} == 1 && w.stride_height == 1 && w.stride_width == 1 &&
         !has_pads(w);
}

Result<bool> lower_pool_as_copy(SubgraphBuilder& builder, ValueId value, Operand input) {
  const Operand output = KINGLET_TRY(builder.output(value));
  KINGLET_TRY(builder.reshape(input, output));
  return true;
}

Result<bool> lower_max_pool(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!makes_only_first(node)) return false;
  const auto pool = pool_of(graph, node);
  if (!pool) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  if (is_copy(pool->window)) return lower_pool_as_copy(builder, node.outputs[0], input);
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
  if (is_copy(pool->window)) return lower_pool_as_copy(builder, node.outputs[0], input);
  if (counts && has_pads(pool->window)) input = KINGLET_TRY(padded(builder, input, pool->window));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.average_pooling(pool->window, range, input, output));
  return true;
}

// --- Whole planes ---------------------------------------------------------------------------------------------------

Result<void> infer_global_pool(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  KINGLET_TRY(need_rank(context, 0, 2));
  KINGLET_TRY(checked_int(context, "p", 2, 1, 1 << 16));
  std::optional<Shape> out = context.input_shape(0);
  for (std::size_t axis = 2; out && axis < out->size(); ++axis) (*out)[axis] = 1;
  context.set_output(0, context.input_type(0), out);
  return {};
}

template <typename F>
void reduce_planes(Inputs inputs, std::span<Tensor> outputs, F f) {
  const auto from = inputs[0]->data<float>();
  const auto to = outputs[0].mutable_data<float>();
  if (to.empty()) return;
  const std::size_t size = from.size() / to.size();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(f(from.subspan(i * size, size)));
}

Result<void> evaluate_global_average_pool(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  reduce_planes(inputs, outputs, [](std::span<const float> plane) {
    double sum = 0;
    for (const float value : plane) sum += value;
    return sum / static_cast<double>(plane.size());
  });
  return {};
}

Result<bool> lower_global_average_pool(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kNhwc));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.reduce(xnn_reduce_mean, {1, 2}, true, input, output));
  return true;
}

Result<void> evaluate_global_max_pool(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  reduce_planes(inputs, outputs, [](std::span<const float> plane) {
    float best = -std::numeric_limits<float>::infinity();
    for (const float value : plane) best = value > best || value != value ? value : best;
    return best;
  });
  return {};
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

Result<void> evaluate_global_lp_pool(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const auto p = static_cast<double>(node.attributes.get_int("p", 2));
  reduce_planes(inputs, outputs, [=](std::span<const float> plane) {
    double sum = 0;
    for (const float value : plane) sum += std::pow(std::abs(static_cast<double>(value)), p);
    return std::pow(sum, 1 / p);
  });
  return {};
}

}  // namespace

// What ceil_mode adds behind the padding does not count, as PyTorch and ONNX Runtime have it; but it does where the
// window is dilated, which ONNX alone defines (its own cases count it).
void average_pool(const Attributes& attributes, const Tensor& x, Tensor& y) {
  const bool with_padding = attributes.get_int("count_include_pad", 0) != 0;
  const Window window = window_of(attributes, x);
  const bool dilated = std::ranges::any_of(window.dilations, [](std::int64_t step) { return step != 1; });
  const std::int64_t taps = *element_count(window.kernel);
  sum_pool(
      attributes, x, y, [](double value) { return value; },
      [=](double sum, const Cells& cells) {
        std::int64_t count = static_cast<std::int64_t>(cells.inside.size());
        if (with_padding) count = dilated ? taps : cells.padded;
        return count == 0 ? 0.0 : sum / static_cast<double>(count);
      });
}

constexpr Traits kOfMeans{.never_negative = NeverNegative::kLikeFirst,
                          .dims = DimRule::kBatch,
                          .numbers = Numbers::kMeans,
                          .homogeneous = true,
                          .takes_clip = true};
const OpParts kAveragePool{.infer = infer_pool,
                           .evaluate = evaluate_average_pool,
                           .steps = pool_steps,
                           .lower = lower_average_pool,
                           .traits = kOfMeans};
const OpParts kMaxPool{.infer = infer_max_pool,
                       .evaluate = evaluate_max_pool,
                       .steps = pool_steps,
                       .lower = lower_max_pool,
                       .traits = {.never_negative = NeverNegative::kLikeFirst,
                                  .dims = DimRule::kBatch,
                                  .levels = Levels::kOfFirst,
                                  .numbers = Numbers::kPicked,
                                  .homogeneous = true,
                                  .pads_with_least = true,
                                  .takes_clip = true}};
const OpParts kLpPool{
    .infer = infer_lp_pool, .evaluate = evaluate_lp_pool, .steps = pool_steps, .traits = {.dims = DimRule::kBatch}};
const OpParts kGlobalAveragePool{.infer = infer_global_pool,
                                 .evaluate = evaluate_global_average_pool,
                                 .lower = lower_global_average_pool,
                                 .traits = kOfMeans};
const OpParts kGlobalMaxPool{.infer = infer_global_pool,
                             .evaluate = evaluate_global_max_pool,
                             .lower = lower_global_max_pool,
                             .traits = {.never_negative = NeverNegative::kLikeFirst,
                                        .dims = DimRule::kBatch,
                                        .numbers = Numbers::kPicked,
                                        .homogeneous = true}};
const OpParts kGlobalLpPool{.infer = infer_global_pool, .evaluate = evaluate_global_lp_pool};

}  // namespace kinglet::engine::ops
