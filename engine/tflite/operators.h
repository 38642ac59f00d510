// SPDX-License-Identifier: Apache-2.0
// Why: one function an operator of operators.def: reads the current operator of the builder and finishes its tensor.
#pragma once

#include "engine/tflite/builder.h"

namespace kinglet::engine::tflite {

using ImportOperator = Result<void>(Builder& builder);

ImportOperator import_add, import_average_pool, import_concatenation, import_conv, import_depthwise_conv,
    import_fully_connected, import_hard_swish, import_logistic, import_max_pool, import_mean, import_mul, import_pad,
    import_relu, import_relu6, import_relu_n1_to_1, import_reshape, import_same, import_softmax, import_sub,
    import_tanh;

}  // namespace kinglet::engine::tflite
