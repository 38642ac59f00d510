// SPDX-License-Identifier: Apache-2.0
// Why: the `lower` functions of the rows, in files of their own (lower_<family>.cpp) so that schema and reference stay
// readable and free of the backend. Contract of each: op.h, Op::lower.
#pragma once

#include "engine/ops/op.h"

namespace kinglet::engine::ops {

using Lower = Result<bool>(xnn::SubgraphBuilder& builder, const Graph& graph, NodeId id);

// lower_conv.cpp
Lower lower_conv, lower_gemm, lower_matmul;
// lower_elementwise.cpp
Lower lower_abs, lower_neg, lower_floor, lower_ceil, lower_round, lower_sqrt, lower_exp, lower_log, lower_reciprocal;
Lower lower_relu, lower_clip, lower_leaky_relu, lower_elu, lower_gelu, lower_sigmoid, lower_tanh;
Lower lower_hard_sigmoid, lower_hard_swish, lower_prelu;
Lower lower_add, lower_sub, lower_mul, lower_div, lower_min, lower_max, lower_sum, lower_mean, lower_pow;
Lower lower_batch_normalization, lower_quantize, lower_dequantize;
// lower_pool.cpp
Lower lower_max_pool, lower_average_pool, lower_global_average_pool, lower_global_max_pool;
Lower lower_reduce_mean, lower_reduce_sum, lower_softmax, lower_resize;
// lower_shape.cpp
Lower lower_concat, lower_split, lower_slice, lower_reshape, lower_transpose, lower_pad, lower_copy;

}  // namespace kinglet::engine::ops
