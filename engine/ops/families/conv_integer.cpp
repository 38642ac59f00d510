// SPDX-License-Identifier: Apache-2.0
// Convolution of 8-bit numbers: ConvInteger (sums as they are) and QLinearConv (sums in the output's scale, with an
// int32 bias). The weight may have one scale and zero point an output channel. Sums wrap to 32 bits.
#include <cmath>

#include "engine/base/format.h"
#include "engine/ops/families/convolution_work.h"
#include "engine/ops/families/convolve.h"
#include "engine/ops/families/lower_quantized.h"
#include "engine/ops/quantized.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

// Input `i` has one number, or one for each output channel of weight `w`.
Result<void> need_per_channel(const InferContext& context, std::size_t i, std::size_t w) {
  if (!context.has_input(i)) return {};
  const std::optional<Shape>& shape = context.input_shape(i);
  const std::optional<Shape>& weight = context.input_shape(w);
  if (!shape || !weight || weight->empty() || !is_static(*shape) || (*weight)[0] == kUnknownDim) return {};
  if (element_count(*shape) == 1 || *shape == Shape{(*weight)[0]}) return {};
  return context.fail(format_text("input {} of shape {} is neither one number nor one for each of {} channels", i,
                                  to_string(*shape), (*weight)[0]));
}

std::size_t channel_index(const Tensor& tensor, std::int64_t channel) {
  return tensor.element_count() == 1 ? 0 : static_cast<std::size_t>(channel);
}

// x - zero point, exact in float. `per_first`: one zero point for each index of the first axis.
std::vector<float> shifted_floats(const Tensor& x, const Tensor* zero_point, bool per_first) {
  Shape under;
  if (zero_point != nullptr && zero_point->element_count() != 1 && per_first) {
    under.assign(x.shape().size(), 1);
    under[0] = x.shape()[0];
  }
  const std::vector<std::int32_t> numbers = shifted(x, zero_point, under);
  return {numbers.begin(), numbers.end()};
}

std::int32_t wrapped(double sum) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)));
}

struct ConvInputs {
  std::size_t x, x_zero, w, w_zero;
};

// f(element of the output, channel, exact sum)
template <typename F>
void convolve_integers(const Node& node, Inputs inputs, const ConvInputs& at, const Shape& y, F f) {
  const std::vector<float> x = shifted_floats(*inputs[at.x], input_or_null(inputs, at.x_zero), false);
  const std::vector<float> w = shifted_floats(*inputs[at.w], input_or_null(inputs, at.w_zero), true);
  convolve(node.attributes, {inputs[at.x]->shape(), x}, {inputs[at.w]->shape(), w}, y,
           [&](std::int64_t plane, std::int64_t channel, std::span<const double> sums) {
             const std::size_t first = static_cast<std::size_t>(plane) * sums.size();
             for (std::size_t i = 0; i < sums.size(); ++i) f(first + i, channel, wrapped(sums[i]));
           });
}

// --- ConvInteger: x, w, x zero point, w zero point ------------------------------------------------------------------

Result<void> infer_conv_integer(InferContext& context) {
  for (const std::size_t i : {0U, 1U}) {
    KINGLET_TRY(need_type(context, i, kBytes));
    if (context.has_input(i + 2)) KINGLET_TRY(need_type_of(context, i + 2, i));
  }
  if (context.has_input(2) && context.input_shape(2) && element_count(*context.input_shape(2)).value_or(1) != 1) {
    return context.fail("the input's zero point is not one number");
  }
  KINGLET_TRY(need_per_channel(context, 3, 1));
  context.set_output(0, DataType::kI32, KINGLET_TRY(conv_output(context, 0, 1)));
  return {};
}

Result<void> evaluate_conv_integer(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const auto to = outputs[0].mutable_data<std::int32_t>();
  convolve_integers(node, inputs, {.x = 0, .x_zero = 2, .w = 1, .w_zero = 3}, outputs[0].shape(),
                    [&](std::size_t i, std::int64_t /*channel*/, std::int32_t sum) { to[i] = sum; });
  return {};
}

// --- QLinearConv: x, scale, zero point, w, scale, zero point, y scale, y zero point, bias ----------------------------

Result<void> infer_qlinear_conv(InferContext& context) {
  KINGLET_TRY(need_quantized(context, {.x = 0, .scale = 1, .zero_point = 2}));
  KINGLET_TRY(need_type(context, 3, kBytes));
  KINGLET_TRY(need_type(context, 4, kFloats));
  KINGLET_TRY(need_type_of(context, 5, 3));
  KINGLET_TRY(need_type(context, 7, kBytes));
  KINGLET_TRY(need_quantization(context, 6, 7, context.input_type(7)));
  KINGLET_TRY(need_per_channel(context, 4, 3));
  KINGLET_TRY(need_per_channel(context, 5, 3));
  if (context.has_input(8)) {
    KINGLET_TRY(need_type(context, 8, {DataType::kI32}));
    const std::optional<Shape>& bias = context.input_shape(8);
    const std::optional<Shape>& w = context.input_shape(3);
    if (bias && w && !w->empty() && is_static(*bias) && (*w)[0] != kUnknownDim && *bias != Shape{(*w)[0]}) {
      return context.fail(format_text("the bias {} does not have {} numbers", to_string(*bias), (*w)[0]));
    }
  }
  context.set_output(0, context.input_type(7), KINGLET_TRY(conv_output(context, 0, 3)));
  return {};
}

Result<void> evaluate_qlinear_conv(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Tensor& w_scale = *inputs[4];
  const Tensor* bias = input_or_null(inputs, 8);
  const float x_scale = scale_of(inputs, 1);
  const float y_scale = scale_of(inputs, 6);
  const std::int32_t y_zero = zero_point_of(inputs, 7);
  visit_bytes(outputs[0].type(), [&]<typename T>() {
    const auto to = outputs[0].mutable_data<T>();
    convolve_integers(node, inputs, {.x = 0, .x_zero = 2, .w = 3, .w_zero = 5}, outputs[0].shape(),
                      [&](std::size_t i, std::int64_t channel, std::int32_t sum) {
                        const auto start =
                            bias == nullptr ? 0 : bias->data<std::int32_t>()[static_cast<std::size_t>(channel)];
                        const float scale = x_scale * w_scale.data<float>()[channel_index(w_scale, channel)] / y_scale;
                        const auto total = static_cast<std::uint32_t>(sum) + static_cast<std::uint32_t>(start);
                        to[i] = requantized<T>(static_cast<std::int32_t>(total), scale, y_zero);
                      });
  });
  return {};
}

double conv_integer_steps(const Graph& graph, const Node& node) { return convolution_steps(graph, node, 1); }
double qlinear_conv_steps(const Graph& graph, const Node& node) { return convolution_steps(graph, node, 3); }

}  // namespace

const OpParts kConvInteger{.infer = infer_conv_integer, .evaluate = evaluate_conv_integer, .steps = conv_integer_steps};
const OpParts kQLinearConv{.infer = infer_qlinear_conv,
                           .evaluate = evaluate_qlinear_conv,
                           .steps = qlinear_conv_steps,
                           .lower = lower_qlinear_conv,
                           .qlinear = {.kind = QLinearKind::kLayer, .becomes = "Conv", .b = 3, .bias = 8, .y_scale = 6},
                           .multiply_adds = convolution_multiply_adds<3>,
                           .work = convolution_work};

}  // namespace kinglet::engine::ops
