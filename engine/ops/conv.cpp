// SPDX-License-Identifier: Apache-2.0
// Convolution over 1 to 3 (and more) spatial dimensions, with groups, dilations and any padding.
//   x [N,C,D1..Dn], w [M,C/group,k1..kn], b [M]  ->  [N,M,E1..En]
#include <algorithm>
#include <format>

#include "engine/ops/common.h"
#include "engine/ops/conv_loops.h"
#include "engine/ops/lower.h"
#include "engine/ops/rows.h"
#include "engine/ops/window.h"

namespace kinglet::engine::ops {

Result<std::optional<Shape>> conv_output(const InferContext& context, std::size_t x_input, std::size_t w_input) {
  KINGLET_TRY(need_rank(context, x_input, 3, 8));
  KINGLET_TRY(need_rank(context, w_input, 3, 8));
  const std::int64_t group = KINGLET_TRY(checked_int(context, "group", 1, 1, kMaxDim));
  const std::optional<Shape>& x = context.input_shape(x_input);
  const std::optional<Shape>& w = context.input_shape(w_input);
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

namespace {

Result<void> infer_conv(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  KINGLET_TRY(need_type_of(context, 1, 0));
  const std::optional<Shape> out = KINGLET_TRY(conv_output(context, 0, 1));
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

Result<void> evaluate_conv(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Tensor& weight = *inputs[1];
  const std::vector<std::int64_t> kernel(weight.shape().begin() + 2, weight.shape().end());
  const Window window = resolve_window(node.attributes, kernel, std::span(inputs[0]->shape()).subspan(2));
  const ConvGeometry geometry(inputs[0]->shape(), weight.shape(), outputs[0].shape(), window,
                              node.attributes.get_int("group", 1));
  const std::span<const float> bias =
      inputs.size() > 2 && inputs[2] ? inputs[2]->data<float>() : std::span<const float>{};
  const std::span<float> out = outputs[0].mutable_data<float>();
  convolve<float, float, double>(geometry, inputs[0]->data<float>(), weight.data<float>(),
                                 [&](std::int64_t plane, std::int64_t channel, std::span<const double> sums) {
                                   const double start = bias.empty() ? 0.0 : bias[static_cast<std::size_t>(channel)];
                                   float* to = out.data() + plane * static_cast<std::int64_t>(sums.size());
                                   for (std::size_t i = 0; i < sums.size(); ++i)
                                     to[i] = static_cast<float>(sums[i] + start);
                                 });
  return {};
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
