// SPDX-License-Identifier: Apache-2.0
// Normalisation over chosen axes without weights: LpNormalization (divides by a norm along one axis) and
// MeanVarianceNormalization (mean 0 and variance 1 over several).
#include <cmath>

#include "engine/ops/common.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

Result<void> infer_lp_normalization(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  KINGLET_TRY(checked_int(context, "p", 2, 1, 2));
  if (const std::optional<Shape>& x = context.input_shape(0)) {
    KINGLET_TRY(checked_axis(context, context.attributes().get_int("axis", -1), x->size()));
  }
  context.set_output(0, context.input_type(0), context.input_shape(0));
  return {};
}

// A line of zeros stays zeros: 0 / 0 would be no number.
Result<void> evaluate_lp_normalization(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  const AxisView view = view_axis(shape, axis_index(node.attributes.get_int("axis", -1), shape.size()));
  const bool absolute = node.attributes.get_int("p", 2) == 1;
  const float* from = inputs[0]->data<float>().data();
  float* to = outputs[0].mutable_data<float>().data();
  for (std::int64_t i = 0; i < view.outer * view.inner; ++i) {
    const std::int64_t start = i / view.inner * view.length * view.inner + i % view.inner;
    double sum = 0;
    for (std::int64_t k = 0; k < view.length; ++k) {
      const double x = from[start + k * view.inner];
      sum += absolute ? std::abs(x) : x * x;
    }
    const double norm = absolute ? sum : std::sqrt(sum);
    for (std::int64_t k = 0; k < view.length; ++k) {
      const std::int64_t at = start + k * view.inner;
      to[at] = norm == 0 ? 0.0F : static_cast<float>(from[at] / norm);
    }
  }
  return {};
}

std::vector<std::int64_t> averaged_axes(const Attributes& attributes) { return attributes.get_ints("axes", {0, 2, 3}); }

Result<void> infer_mean_variance(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kFloats));
  if (const std::optional<Shape>& x = context.input_shape(0)) {
    KINGLET_TRY(checked_axes(context, averaged_axes(context.attributes()), x->size()));
  }
  context.set_output(0, context.input_type(0), context.input_shape(0));
  return {};
}

// y = (x - mean) / (deviation + 1e-9), one mean and deviation for each place of the other axes.
Result<void> evaluate_mean_variance(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  Shape groups = shape;
  for (const std::int64_t axis : averaged_axes(node.attributes)) groups[axis_index(axis, shape.size())] = 1;
  const auto group_count = static_cast<std::size_t>(*element_count(groups));
  const std::vector<std::int64_t> strides = broadcast_strides(groups, shape);
  const auto from = inputs[0]->data<float>();
  const auto to = outputs[0].mutable_data<float>();
  if (to.empty()) return {};
  const auto for_each = [&](auto f) {
    std::size_t i = 0;
    walk<1>(shape, {strides}, [&](const std::array<std::int64_t, 1>& at) { f(i++, static_cast<std::size_t>(at[0])); });
  };
  const double count = static_cast<double>(from.size()) / static_cast<double>(group_count);
  std::vector<double> means(group_count, 0.0);
  for_each([&](std::size_t i, std::size_t group) { means[group] += from[i] / count; });
  std::vector<double> variances(group_count, 0.0);
  for_each([&](std::size_t i, std::size_t group) {
    const double off = from[i] - means[group];
    variances[group] += off * off / count;
  });
  for_each([&](std::size_t i, std::size_t group) {
    to[i] = static_cast<float>((from[i] - means[group]) / (std::sqrt(variances[group]) + 1e-9));
  });
  return {};
}

}  // namespace

const OpParts kLpNormalization{.infer = infer_lp_normalization, .evaluate = evaluate_lp_normalization};
const OpParts kMeanVarianceNormalization{.infer = infer_mean_variance, .evaluate = evaluate_mean_variance};

}  // namespace kinglet::engine::ops
