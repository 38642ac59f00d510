// SPDX-License-Identifier: Apache-2.0
// Matrix products: MatMul (numpy's rules) and Gemm.
#include <algorithm>
#include <cmath>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/families/column_blocks.h"
#include "engine/ops/families/from_real.h"
#include "engine/ops/families/matmul.h"
#include "engine/ops/lower.h"
#include "engine/ops/normalize.h"
#include "engine/ops/rows.h"
#include "engine/ops/steps.h"

namespace kinglet::engine::ops {
namespace {

Result<void> infer_matmul(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, {DataType::kF32, DataType::kF16, DataType::kI64, DataType::kI32}));
  KINGLET_TRY(need_type_of(context, 1, 0));
  context.set_output(0, context.input_type(0), KINGLET_TRY(matmul_output(context, 0, 1)));
  return {};
}

// Integers wrap; floats accumulate in double.
template <typename T>
void matmul(const Tensor& a, const Tensor& b, Tensor& out) {
  using Sum = std::conditional_t<std::is_same_v<T, float>, double, std::uint64_t>;
  const MatmulPlan plan = plan_matmul(a.shape(), b.shape());
  T* to = out.mutable_data<T>().data();
  multiply_rows<Sum>(plan, a.data<T>().data(), b.data<T>().data(), [&](std::int64_t first, std::span<const Sum> sums) {
    T* line = to + first;
    for (std::size_t column = 0; column < sums.size(); ++column) line[column] = static_cast<T>(sums[column]);
  });
}

Result<void> evaluate_matmul(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  visit_type(outputs[0].type(), [&]<typename T>() {
    if constexpr (sizeof(T) >= 4) matmul<T>(*inputs[0], *inputs[1], outputs[0]);
  });
  return {};
}

// The operand with `rank` dimensions, 1 in front.
Result<Operand> widened(SubgraphBuilder& builder, Operand matrix, std::size_t rank) {
  Dims dims = builder.dims(matrix);
  if (dims.size() >= rank) return matrix;
  dims.insert(dims.begin(), rank - dims.size(), 1);
  const Operand wide = KINGLET_TRY(builder.temporary(dims));
  KINGLET_TRY(builder.reshape(matrix, wide));
  return wide;
}

// One matrix for all of a batch: rows of all of them against it.
Result<void> multiply_by_one(SubgraphBuilder& builder, Operand a, Operand b, Operand output) {
  const Dims left = builder.dims(a);
  std::size_t rows = 1;
  for (std::size_t i = 0; i + 1 < left.size(); ++i) rows *= left[i];
  const Dims right = builder.dims(b);
  const std::size_t depth = right[right.size() - 2];
  const std::size_t columns = right.back();
  const Operand flat_a = KINGLET_TRY(builder.temporary({1, rows, depth}));
  const Operand flat_b = KINGLET_TRY(builder.temporary({1, depth, columns}));
  const Operand product = KINGLET_TRY(builder.temporary({1, rows, columns}));
  KINGLET_TRY(builder.reshape(a, flat_a));
  KINGLET_TRY(builder.reshape(b, flat_b));
  KINGLET_TRY(builder.batch_matrix_multiply(flat_a, flat_b, product));
  return builder.reshape(product, output);
}

Result<bool> lower_dynamic_matmul(SubgraphBuilder& builder, const Node& node) {
  const Operand a = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  const Operand b = KINGLET_TRY(builder.input(node.inputs[1], Layout::kLogical));
  const Dims left = builder.dims(a);
  const Dims right = builder.dims(b);
  if (builder.graph().value(node.inputs[0]).shape->size() < 2 || right.size() < 2) return false;
  if (builder.graph().value(node.inputs[1]).shape->size() < 2) return false;
  const bool one_matrix = std::all_of(right.begin(), right.end() - 2, [](std::size_t dim) { return dim == 1; });
  const std::size_t rank = std::max({left.size(), right.size(), std::size_t{3}});
  if (one_matrix) {
    const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
    KINGLET_TRY(multiply_by_one(builder, a, b, output));
    return true;
  }
  const Operand wide_a = KINGLET_TRY(widened(builder, a, rank));
  const Operand wide_b = KINGLET_TRY(widened(builder, b, rank));
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.batch_matrix_multiply(wide_a, wide_b, output));
  return true;
}

// A constant matrix, perhaps with leading dimensions of 1.
const Tensor* constant_matrix(const Graph& graph, const Node& node) {
  const Tensor* weight = graph.constant(node.inputs[1]);
  if (weight == nullptr || weight->type() != DataType::kF32 || weight->shape().size() < 2) return nullptr;
  const Shape& shape = weight->shape();
  // Leading dimensions of the weight that the input does not have would add dimensions to the result.
  if (shape.size() > std::max<std::size_t>(2, graph.value(node.inputs[0]).shape->size())) return nullptr;
  return std::all_of(shape.begin(), shape.end() - 2, [](Dim dim) { return dim == 1; }) ? weight : nullptr;
}

Result<bool> lower_matmul(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* weight = constant_matrix(graph, node);
  if (weight == nullptr) return lower_dynamic_matmul(builder, node);
  if (graph.value(node.inputs[0]).shape->size() < 2) return false;
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  const Tensor matrix = weight->reshaped({weight->shape().end() - 2, weight->shape().end()});
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(lower_matrix(builder, matrix, nullptr, range, input, output));
  return true;
}

std::optional<kernels::Work> matmul_work(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* weight = constant_matrix(graph, node);
  if (weight == nullptr || graph.value(node.inputs[0]).shape->size() < 2) return std::nullopt;
  return matrix_work(graph, node, weight->reshaped({weight->shape().end() - 2, weight->shape().end()}), false, nullptr);
}

// --- Gemm: alpha * a' * b' + beta * c -------------------------------------------------------------------------------

Result<void> normalize_gemm(Graph& graph, NodeId id, std::int64_t /*opset*/) {
  graph.attributes(id).remove("broadcast");  // before opset 7; the rule is today's one-way broadcast
  return {};
}

Result<void> infer_gemm(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, {DataType::kF32, DataType::kF16, DataType::kI64, DataType::kI32}));
  KINGLET_TRY(need_type_of(context, 1, 0));
  KINGLET_TRY(need_rank(context, 0, 2, 2));
  KINGLET_TRY(need_rank(context, 1, 2, 2));
  if (!context.input_shape(0) || !context.input_shape(1)) {
    context.set_output(0, context.input_type(0), Shape{kUnknownDim, kUnknownDim});
    return {};
  }
  const Shape& a = *context.input_shape(0);
  const Shape& b = *context.input_shape(1);
  const std::size_t a_swap = context.attributes().get_int("transA", 0) != 0 ? 1 : 0;
  const std::size_t b_swap = context.attributes().get_int("transB", 0) != 0 ? 1 : 0;
  const Dim depth_a = a[1 - a_swap];
  const Dim depth_b = b[b_swap];
  if (depth_a != depth_b && depth_a != kUnknownDim && depth_b != kUnknownDim) {
    return context.fail(
        format_text("cannot multiply {} by {} (transA {}, transB {})", to_string(a), to_string(b), a_swap, b_swap));
  }
  const Shape out{a[a_swap], b[1 - b_swap]};
  if (context.has_input(2)) {
    KINGLET_TRY(need_type_of(context, 2, 0));
    const std::optional<Shape>& c = context.input_shape(2);
    const std::optional<Shape> both = c ? broadcast(*c, out) : out;
    if (!both || (is_static(out) && *both != out)) {
      return context.fail(format_text("c {} does not broadcast to {}", to_string(*c), to_string(out)));
    }
  }
  context.set_output(0, context.input_type(0), out);
  return {};
}

template <typename T>
void gemm(const Node& node, Inputs inputs, Tensor& out) {
  const Tensor& a = *inputs[0];
  const Tensor& b = *inputs[1];
  const bool a_swap = node.attributes.get_int("transA", 0) != 0;
  const bool b_swap = node.attributes.get_int("transB", 0) != 0;
  const double alpha = node.attributes.get_float("alpha", 1.0F);
  const double beta = node.attributes.get_float("beta", 1.0F);
  const std::int64_t rows = out.shape()[0];
  const std::int64_t columns = out.shape()[1];
  const std::int64_t depth = a.shape()[a_swap ? 0 : 1];
  const std::int64_t a_row = a_swap ? 1 : depth, a_step = a_swap ? rows : 1;
  const std::int64_t b_column = b_swap ? depth : 1, b_step = b_swap ? 1 : columns;
  const T* c = inputs.size() > 2 && inputs[2] != nullptr ? inputs[2]->data<T>().data() : nullptr;
  const std::vector<std::int64_t> c_strides =
      c != nullptr ? broadcast_strides(inputs[2]->shape(), out.shape()) : std::vector<std::int64_t>{0, 0};
  T* to = out.mutable_data<T>().data();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const T* left = a.data<T>().data() + row * a_row;
      const T* right = b.data<T>().data() + column * b_column;
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum += static_cast<double>(left[k * a_step]) * static_cast<double>(right[k * b_step]);
      }
      const double offset =
          c == nullptr ? 0.0 : beta * static_cast<double>(c[row * c_strides[0] + column * c_strides[1]]);
      to[row * columns + column] = from_real<T>(alpha * sum + offset);
    }
  }
}

Result<void> evaluate_gemm(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  visit_type(outputs[0].type(), [&]<typename T>() {
    if constexpr (sizeof(T) >= 4) gemm<T>(node, inputs, outputs[0]);
  });
  return {};
}

// beta * C as one number an output column; nothing when C has rows or is no f32.
std::optional<Tensor> gemm_bias(const Tensor& c, float beta, std::int64_t columns) {
  const Shape& shape = c.shape();
  const bool row = c.element_count() == columns && !shape.empty() && shape.back() == columns;
  if (c.type() != DataType::kF32 || (!row && c.element_count() != 1)) return std::nullopt;
  if (row && beta == 1) return c.reshaped({columns});
  Tensor out(DataType::kF32, {columns});
  const auto from = c.data<float>();
  const auto to = out.mutable_data<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = beta * from[row ? i : 0];
  return out;
}

Tensor scaled(const Tensor& tensor, float factor) {
  if (factor == 1) return tensor;
  Tensor out = tensor;
  for (float& x : out.mutable_data<float>()) x *= factor;
  return out;
}

Result<bool> lower_gemm(SubgraphBuilder& builder, const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Tensor* weight = graph.constant(node.inputs[1]);
  if (weight == nullptr || weight->type() != DataType::kF32 || node.attributes.get_int("transA", 0) != 0) return false;
  const bool out_in = node.attributes.get_int("transB", 0) != 0;
  const std::int64_t columns = weight->shape().at(out_in ? 0 : 1);
  std::optional<Tensor> numbers;
  if (is_given(node, 2)) {
    const Tensor* c = constant_input(graph, node, 2);
    if (c != nullptr) numbers = gemm_bias(*c, node.attributes.get_float("beta", 1), columns);
    if (!numbers) return false;
  }
  const Operand input = KINGLET_TRY(builder.input(node.inputs[0], Layout::kLogical));
  const float alpha = node.attributes.get_float("alpha", 1);
  const Operand filter = KINGLET_TRY(builder.constant(builder.is_probe() ? *weight : scaled(*weight, alpha),
                                                      dims_of(weight->shape()), Lifetime::kUntilPacked));
  std::optional<Operand> bias;
  if (numbers) bias = KINGLET_TRY(builder.constant(*numbers, dims_of(numbers->shape()), Lifetime::kUntilPacked));
  const xnn::Range range = builder.take_clip();
  const Operand output = KINGLET_TRY(builder.output(node.outputs[0]));
  KINGLET_TRY(builder.fully_connected(!out_in, range, input, filter, bias, output));
  return true;
}

// With factors of one, and a bias that is one number an output already.
std::optional<kernels::Work> gemm_work(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Attributes& attributes = node.attributes;
  const Tensor* weight = constant_input(graph, node, 1);
  const Tensor* bias = constant_input(graph, node, 2);
  const bool is_plain = attributes.get_int("transA", 0) == 0 && attributes.get_float("alpha", 1) == 1 &&
                        attributes.get_float("beta", 1) == 1;
  if (!is_plain || weight == nullptr || (is_given(node, 2) && bias == nullptr)) return std::nullopt;
  const bool outputs_first = attributes.get_int("transB", 0) != 0;
  const Dim outputs = weight->shape().at(outputs_first ? 0 : 1);
  if (bias != nullptr && (bias->shape().empty() || bias->shape().back() != outputs || bias->element_count() != outputs))
    return std::nullopt;
  return matrix_work(graph, node, *weight, outputs_first, bias);
}

}  // namespace

const OpParts kMatMul{.infer = infer_matmul,
                      .evaluate = evaluate_matmul,
                      .steps = product_steps,
                      .lower = lower_matmul,
                      .multiply_adds = product_multiply_adds<1>,
                      .work = matmul_work};
const OpParts kGemm{.normalize = normalize_gemm,
                    .infer = infer_gemm,
                    .evaluate = evaluate_gemm,
                    .steps = product_steps,
                    .lower = lower_gemm,
                    .traits = {.takes_clip = true},
                    .multiply_adds = product_multiply_adds<1>,
                    .work = gemm_work};

}  // namespace kinglet::engine::ops
