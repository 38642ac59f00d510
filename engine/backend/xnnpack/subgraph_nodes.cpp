// SPDX-License-Identifier: Apache-2.0
// Why: the node kinds of SubgraphBuilder: check (shapes in checks.cpp, the rest in subgraph_types.cpp), then define.
#include <algorithm>
#include <array>

#include "engine/backend/xnnpack/subgraph_builder.h"

namespace kinglet::engine::xnn {
namespace {

const Dims kNoDims;

// The names are XNNPACK's own, as its profile lists them.
constexpr NodeKind kBinary{.name = "Binary Elementwise", .writes_over = true};
constexpr NodeKind kUnary{.name = "Unary Elementwise", .writes_over = true};
constexpr NodeKind kClamp{.name = "Unary Elementwise", .writes_over = true, .join = NodeKind::Join::kClamp};
constexpr NodeKind kReshape{.name = "Copy", .writes_over = true};
constexpr NodeKind kSoftmax{.name = "Softmax", .writes_over = true};
constexpr NodeKind kPad{.name = "Constant Pad", .join = NodeKind::Join::kPad};
constexpr NodeKind kConvolution{.name = "Convolution", .join = NodeKind::Join::kConvolution};

}  // namespace

Result<void> SubgraphBuilder::convolution(const Window& w, std::size_t groups, Range range, Operand input,
                                          Operand filter, std::optional<Operand> bias, Operand output) {
  KINGLET_TRY(begin_layer(range, input, filter, bias, output));
  KINGLET_TRY(check_convolution(w, groups, dims(input), dims(filter), bias ? dims(*bias) : kNoDims, dims(output)));
  // Of one channel to one it is a depthwise convolution to XNNPACK.
  if (dims(input)[3] > groups || dims(output)[3] > groups) ++records_[filter.index].layers;
  return define_layer({.window = w,
                       .depthwise = false,
                       .count = groups,
                       .range = range,
                       .input = input,
                       .filter = filter,
                       .bias = bias,
                       .output = output});
}

Result<void> SubgraphBuilder::depthwise_convolution(const Window& w, std::size_t multiplier, Range range, Operand input,
                                                    Operand filter, std::optional<Operand> bias, Operand output) {
  KINGLET_TRY(begin_layer(range, input, filter, bias, output));
  KINGLET_TRY(check_depthwise(w, multiplier, dims(input), dims(filter), bias ? dims(*bias) : kNoDims, dims(output)));
  return define_layer({.window = w,
                       .depthwise = true,
                       .count = multiplier,
                       .range = range,
                       .input = input,
                       .filter = filter,
                       .bias = bias,
                       .output = output});
}

Result<void> SubgraphBuilder::define_layer(const Layer& layer) {
  const std::array inputs{layer.input, layer.filter, layer.bias.value_or(layer.filter)};
  const std::size_t in = dims(layer.input)[3], out = dims(layer.output)[3];
  KINGLET_TRY(define(kConvolution, inputs, layer.output, [layer, in, out](xnn_subgraph_t to, const Ids& id) {
    const auto& [w, depthwise, count, range, input, filter, bias, output] = layer;
    const std::uint32_t bias_id = bias ? id(*bias) : XNN_INVALID_VALUE_ID;
    const auto number = static_cast<std::uint32_t>(count);
    if (depthwise) {
      return xnn_define_depthwise_convolution_2d(to, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel_height,
                                                 w.kernel_width, w.stride_height, w.stride_width, w.dilation_height,
                                                 w.dilation_width, number, in, range.min, range.max, id(input),
                                                 id(filter), bias_id, id(output), 0);
    }
    return xnn_define_convolution_2d(to, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel_height,
                                     w.kernel_width, w.stride_height, w.stride_width, w.dilation_height,
                                     w.dilation_width, number, in / count, out / count, range.min, range.max, id(input),
                                     id(filter), bias_id, id(output), 0);
  }));
  definitions_.back().layer = layer;
  return {};
}

Result<void> SubgraphBuilder::fully_connected(bool transposed, Range range, Operand input, Operand filter,
                                              std::optional<Operand> bias, Operand output) {
  KINGLET_TRY(begin_layer(range, input, filter, bias, output));
  KINGLET_TRY(check_fully_connected(dims(input), dims(filter), transposed, bias ? dims(*bias) : kNoDims, dims(output)));
  const std::array inputs{input, filter, bias.value_or(filter)};
  ++records_[filter.index].layers;
  return define({.name = "Fully Connected"}, inputs, output, [=](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_fully_connected(to, range.min, range.max, id(input), id(filter),
                                      bias ? id(*bias) : XNN_INVALID_VALUE_ID, id(output),
                                      transposed ? XNN_FLAG_TRANSPOSE_WEIGHTS : 0);
  });
}

Result<void> SubgraphBuilder::batch_matrix_multiply(Operand a, Operand b, Operand output) {
  KINGLET_TRY(check_float({a, b, output}));
  KINGLET_TRY(check_batch_matrix_multiply(dims(a), dims(b), dims(output)));
  const std::array inputs{a, b};
  return define({.name = "Batch Matrix Multiply"}, inputs, output, [=](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_batch_matrix_multiply(to, id(a), id(b), id(output), 0);
  });
}

Result<void> SubgraphBuilder::average_pooling(const Window& w, Range range, Operand input, Operand output) {
  KINGLET_TRY(set_range(output, range));
  KINGLET_TRY(check_float({input, output}));
  KINGLET_TRY(check_pooling(w, dims(input), dims(output)));
  if (w.dilation_height != 1 || w.dilation_width != 1)
    return fail(ErrorCode::kBadData, "average pooling with dilation");
  // XNNPACK (20241108) keeps rows of pointers for windows in the upper and in the lower padding, and mixes the rows up
  // where a window may be in both.
  const auto rows = [&](std::size_t pad) { return (pad + w.stride_height - 1) / w.stride_height; };
  if (rows(w.pad_top) + rows(w.pad_bottom) > dims(output)[1]) {
    return fail(ErrorCode::kBadData, "average pooling with windows over both paddings");
  }
  const std::array inputs{input};
  return define({.name = "Average Pooling"}, inputs, output, [=](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_average_pooling_2d(to, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel_height,
                                         w.kernel_width, w.stride_height, w.stride_width, range.min, range.max,
                                         id(input), id(output), 0);
  });
}

Result<void> SubgraphBuilder::max_pooling(const Window& w, Range range, Operand input, Operand output) {
  KINGLET_TRY(set_range(output, range));
  KINGLET_TRY(check_same_type({input, output}));
  KINGLET_TRY(check_pooling(w, dims(input), dims(output)));
  if (w.stride_height > w.kernel_height || w.stride_width > w.kernel_width) {
    return fail(ErrorCode::kBadData, "max pooling with a stride larger than its kernel");
  }
  // XNNPACK (20241108) puts another cell in the place of one in the padding, which need not lie in the window nor even
  // in the input when the window is dilated.
  const bool dilated = w.dilation_height > 1 || w.dilation_width > 1;
  if (dilated && w.pad_top + w.pad_bottom + w.pad_left + w.pad_right > 0) {
    return fail(ErrorCode::kBadData, "max pooling with dilation and padding");
  }
  const std::array inputs{input};
  return define({.name = "Max Pooling"}, inputs, output, [=](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_max_pooling_2d(to, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel_height,
                                     w.kernel_width, w.stride_height, w.stride_width, w.dilation_height,
                                     w.dilation_width, range.min, range.max, id(input), id(output), 0);
  });
}

Result<void> SubgraphBuilder::unary(xnn_unary_operator type, const xnn_unary_params& params, Operand input,
                                    Operand output) {
  KINGLET_TRY(check_numbers(output));
  KINGLET_TRY(check_unary(type, params, input, output));
  KINGLET_TRY(check_same_dims(dims(input), dims(output)));
  if (type == xnn_unary_clamp) {
    const Range bounds{.min = params.clamp.min, .max = params.clamp.max};
    KINGLET_TRY(check_bounds(output, bounds));
    if (record(input).clips_itself) KINGLET_TRY(check_joined_clamp(bounds));
    // XNNPACK makes one of two bounds that follow each other, wrongly where they do not meet.
    const Range& before = record(input).range;
    const Range both{.min = std::max(bounds.min, before.min), .max = std::min(bounds.max, before.max)};
    KINGLET_TRY(check_bounds(output, both));
    records_[output.index].range = both;
  }
  const std::array inputs{input};
  return define(type == xnn_unary_clamp ? kClamp : kUnary, inputs, output, [=](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_unary(to, type, &params, id(input), id(output), 0);
  });
}

Result<void> SubgraphBuilder::clamp(Range range, Operand input, Operand output) {
  xnn_unary_params params{};
  params.clamp = {.min = range.min, .max = range.max};
  return unary(xnn_unary_clamp, params, input, output);
}

Result<void> SubgraphBuilder::convert(Operand input, Operand output) {
  KINGLET_TRY(check_same_dims(dims(input), dims(output)));
  KINGLET_TRY(check_conversion(input, output));
  const std::array inputs{input};
  return define(kUnary, inputs, output, [=](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_unary(to, xnn_unary_convert, nullptr, id(input), id(output), 0);
  });
}

Result<void> SubgraphBuilder::binary(xnn_binary_operator type, Operand a, Operand b, Operand output) {
  KINGLET_TRY(check_numbers(output));
  KINGLET_TRY(check_arithmetic(type, a, b, output));
  KINGLET_TRY(check_broadcast(dims(a), dims(b), dims(output)));
  const std::array inputs{a, b};
  return define(kBinary, inputs, output, [=](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_binary(to, type, nullptr, id(a), id(b), id(output), 0);
  });
}

Result<void> SubgraphBuilder::softmax(Operand input, Operand output) {
  KINGLET_TRY(check_float({input, output}));
  KINGLET_TRY(check_same_dims(dims(input), dims(output)));
  const std::array inputs{input};
  return define(kSoftmax, inputs, output,
                [=](xnn_subgraph_t to, const Ids& id) { return xnn_define_softmax(to, id(input), id(output), 0); });
}

Result<void> SubgraphBuilder::reduce(xnn_reduce_operator type, const std::vector<std::size_t>& axes, bool keep_dims,
                                     Operand input, Operand output) {
  KINGLET_TRY(check_numbers(output));
  KINGLET_TRY(check_kind(input, output));
  KINGLET_TRY(check_conversion(input, output));
  KINGLET_TRY(check_reduce(axes, keep_dims, dims(input), dims(output)));
  const std::array inputs{input};
  return define({.name = type == xnn_reduce_mean ? "Mean" : "Sum"}, inputs, output,
                [=](xnn_subgraph_t to, const Ids& id) {
                  return xnn_define_static_reduce(to, type, axes.size(), axes.data(), id(input), id(output),
                                                  keep_dims ? XNN_FLAG_KEEP_DIMS : 0);
                });
}

Result<void> SubgraphBuilder::concatenate(std::size_t axis, std::span<const Operand> inputs, Operand output) {
  constexpr std::size_t kMost = 5;
  if (inputs.empty() || axis >= dims(output).size()) return fail(ErrorCode::kBadData, "nothing to join");
  std::vector<Operand> left(inputs.begin(), inputs.end());
  while (left.size() > kMost) {
    const std::span<const Operand> group(left.data(), kMost);
    Dims joined = dims(left[0]);
    joined.at(axis) = 0;
    for (const Operand operand : group) joined[axis] += dims(operand).at(axis);
    const Operand middle = KINGLET_TRY(temporary_like(left[0], joined));
    KINGLET_TRY(join(axis, group, middle));
    left.erase(left.begin(), left.begin() + kMost);
    left.insert(left.begin(), middle);
  }
  return left.size() == 1 ? reshape(left[0], output) : join(axis, left, output);
}

Result<void> SubgraphBuilder::join(std::size_t axis, std::span<const Operand> in, Operand output) {
  std::vector<const Dims*> shapes;
  for (const Operand operand : in) {
    KINGLET_TRY(check_same_type({operand, output}));
    shapes.push_back(&dims(operand));
  }
  KINGLET_TRY(check_concatenate(axis, shapes, dims(output)));
  const auto place = static_cast<std::int32_t>(axis);
  return define({.name = kReshape.name}, in, output,
                [=, parts = std::vector(in.begin(), in.end())](xnn_subgraph_t to, const Ids& id) {
                  const auto part = [&](std::size_t i) { return id(parts[i]); };
                  switch (parts.size()) {
                    case 2:
                      return xnn_define_concatenate2(to, place, part(0), part(1), id(output), 0);
                    case 3:
                      return xnn_define_concatenate3(to, place, part(0), part(1), part(2), id(output), 0);
                    case 4:
                      return xnn_define_concatenate4(to, place, part(0), part(1), part(2), part(3), id(output), 0);
                    default:
                      return xnn_define_concatenate5(to, place, part(0), part(1), part(2), part(3), part(4), id(output),
                                                     0);
                  }
                });
}

Result<void> SubgraphBuilder::slice(const Dims& offsets, const Dims& sizes, Operand input, Operand output) {
  KINGLET_TRY(check_same_type({input, output}));
  KINGLET_TRY(check_slice(offsets, sizes, dims(input), dims(output)));
  const std::array inputs{input};
  return define({.name = "Slice"}, inputs, output, [=](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_static_slice(to, offsets.size(), offsets.data(), sizes.data(), id(input), id(output), 0);
  });
}

Result<void> SubgraphBuilder::reshape(Operand input, Operand output) {
  KINGLET_TRY(check_same_type({input, output}));
  KINGLET_TRY(check_reshape(dims(input), dims(output)));
  const std::array inputs{input};
  return define(kReshape, inputs, output, [=, shape = dims(output)](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_static_reshape(to, shape.size(), shape.data(), id(input), id(output), 0);
  });
}

Result<void> SubgraphBuilder::transpose(const Dims& permutation, Operand input, Operand output) {
  KINGLET_TRY(check_same_type({input, output}));
  KINGLET_TRY(check_transpose(permutation, dims(input), dims(output)));
  const std::array inputs{input};
  return define({.name = "Transpose"}, inputs, output, [=](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_static_transpose(to, permutation.size(), permutation.data(), id(input), id(output), 0);
  });
}

Result<void> SubgraphBuilder::pad(const Dims& before, const Dims& after, float value, Operand input, Operand output) {
  KINGLET_TRY(check_float({input, output}));
  KINGLET_TRY(check_pad(before, after, dims(input), dims(output)));
  const std::array inputs{input};
  return define(kPad, inputs, output, [=](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_static_constant_pad(to, before.data(), after.data(), value, id(input), id(output), 0);
  });
}

Result<void> SubgraphBuilder::resize_bilinear(ResizeGrid grid, Operand input, Operand output) {
  KINGLET_TRY(check_float({input, output}));
  KINGLET_TRY(check_resize(dims(input), dims(output)));
  std::uint32_t flags = 0;
  if (grid == ResizeGrid::kAlignCorners) flags = XNN_FLAG_ALIGN_CORNERS;
  if (grid == ResizeGrid::kAsymmetric) flags = XNN_FLAG_TENSORFLOW_LEGACY_MODE;
  const std::array inputs{input};
  const std::size_t height = dims(output)[1], width = dims(output)[2];
  return define({.name = "Resize Bilinear"}, inputs, output, [=](xnn_subgraph_t to, const Ids& id) {
    return xnn_define_static_resize_bilinear_2d(to, height, width, id(input), id(output), flags);
  });
}

}  // namespace kinglet::engine::xnn
