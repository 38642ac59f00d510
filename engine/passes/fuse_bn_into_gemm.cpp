// SPDX-License-Identifier: Apache-2.0
// Before:     y = Gemm(a, b, k); z = BatchNormalization(y, scale, shift, mean, variance)
// After:      z = Gemm(a, b', k') {beta=1}
// Conditions: y is read by this node alone and is no graph output; BatchNormalization as in fuse_bn_into_conv; b is a
//             fixed constant of rank 2, k absent or a fixed constant of one element, [N] or [1,N]; every result is
//             finite.
// Formula:    f as there; column n of b (row n with transB) * f[n]; k'[n] = (beta * k[n] - mean[n]) * f[n] + shift[n].
#include "engine/passes/rewrite.h"

namespace kinglet::engine::passes {
namespace {

// beta * k for each of the N columns; zeros without k.
std::optional<std::vector<double>> scaled_bias(const Graph& graph, const Node& gemm, std::size_t columns) {
  std::vector<double> bias(columns, 0.0);
  if (!has_input(gemm, 2)) return bias;
  const Tensor* constant = fixed_input(graph, gemm, 2);
  if (constant == nullptr || !is_float(constant->type())) return std::nullopt;
  const Shape& shape = constant->shape();
  const auto count = static_cast<std::size_t>(constant->element_count());
  if (shape.size() > 2 || (shape.size() == 2 && shape[0] != 1) || (count != 1 && count != columns)) return std::nullopt;
  const std::vector<float> numbers = constant->to_floats();
  const double beta = static_cast<double>(gemm.attributes.get_float("beta", 1.0F));
  for (std::size_t n = 0; n < columns; ++n) bias[n] = beta * static_cast<double>(numbers[count == 1 ? 0 : n]);
  return bias;
}

bool fuse(Graph& graph, NodeId id) {
  const Node& bn = graph.node(id);
  const NodeId gemm_id = inner_producer(graph, bn.inputs[0], {"Gemm"});
  if (gemm_id == kNoNode) return false;
  const Node& gemm = graph.node(gemm_id);
  const Tensor* weight = fixed_input(graph, gemm, 1);
  const std::optional<ChannelAffine> affine = affine_of_bn(graph, bn);
  if (weight == nullptr || !is_float(weight->type()) || weight->shape().size() != 2 || !affine) return false;
  const std::size_t column_axis = gemm.attributes.get_int("transB", 0) != 0 ? 0 : 1;
  const auto columns = static_cast<std::size_t>(weight->shape()[column_axis]);
  std::optional<std::vector<double>> bias = scaled_bias(graph, gemm, columns);
  if (!bias || affine->factor.size() != columns || !can_replace(graph, bn.outputs[0], gemm.outputs[0])) return false;
  for (std::size_t n = 0; n < columns; ++n) (*bias)[n] = (*bias)[n] * affine->factor[n] + affine->shift[n];
  Tensor new_weight = *weight;
  std::optional<Tensor> new_bias = make_finite(weight->type(), {static_cast<Dim>(columns)}, *bias);
  if (!new_bias || !scale(new_weight, affine->factor, column_axis)) return false;
  const ValueId output = gemm.outputs[0];
  put_constant(graph, gemm_id, 1, std::move(new_weight), "weight");
  put_constant(graph, gemm_id, 2, *std::move(new_bias), "bias");
  graph.attributes(gemm_id).remove("beta");
  return bypass_node(graph, id, output);
}

}  // namespace

const NodePass fuse_bn_into_gemm{{"BatchNormalization"}, fuse};

}  // namespace kinglet::engine::passes
