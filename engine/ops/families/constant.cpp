// SPDX-License-Identifier: Apache-2.0
// Cast between element types, and tensors made of one number: ConstantOfShape. (Constant nodes become constants at
// load.)
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/format.h"
#include "engine/graph/float16.h"
#include "engine/ops/common.h"
#include "engine/ops/families/float64_detour.h"
#include "engine/ops/normalize.h"
#include "engine/ops/out_of_scope.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

Result<void> normalize_cast(Graph& graph, NodeId id, std::int64_t /*opset*/) {
  take_out_float64_detour(graph, id);
  return {};
}

Result<void> infer_cast(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  const std::int64_t number = context.attributes().get_int("to", 0);
  const std::optional<DataType> type = type_of_number(number);
  if (!type) return context.refuse(format_text("casts to {}", describe_refused_type(number)));
  context.set_output(0, *type, context.input_shape(0));
  return {};
}

Result<void> infer_cast_like(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  context.set_output(0, context.input_type(1), context.input_shape(0));
  return {};
}

// Floats are cut towards zero; what does not fit the integer wraps or, for floats, stops at the limit. NaN is 0.
template <typename To, typename From>
To cast(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{};
  } else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) {
    if (x != x) return To{0};
    constexpr float kLow = -9223372036854775808.0F;
    if (x >= -kLow) return static_cast<To>(std::numeric_limits<std::int64_t>::max());
    if (x < kLow) return static_cast<To>(std::numeric_limits<std::int64_t>::min());
    return static_cast<To>(static_cast<std::int64_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

Result<void> evaluate_cast(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  visit_type(inputs[0]->type(), [&]<typename From>() {
    visit_type(outputs[0].type(), [&]<typename To>() {
      const auto from = inputs[0]->data<From>();
      const auto to = outputs[0].mutable_data<To>();
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = cast<To, From>(from[i]);
    });
  });
  return {};
}

Result<void> infer_constant_of_shape(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kIndices));
  DataType type = DataType::kF32;
  if (const Attribute* value = context.attributes().find("value")) {
    const Tensor* tensor = std::get_if<Tensor>(value);
    if (tensor == nullptr || tensor->element_count() != 1) return context.fail("attribute value is not one number");
    type = tensor->type();
  }
  const Tensor* shape = context.input_constant(0);
  if (shape == nullptr) {
    context.set_output(0, type, std::nullopt);
    return {};
  }
  const std::vector<std::int64_t> dims = shape->to_int64s();
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim > kMaxDim) return context.fail(format_text("the shape holds {}", dim));
  }
  context.set_output(0, type, dims);
  return {};
}

Result<void> evaluate_constant_of_shape(const Node& node, Inputs /*inputs*/, std::span<Tensor> outputs) {
  const Attribute* value = node.attributes.find("value");
  if (value == nullptr) return {};
  const Tensor& one = std::get<Tensor>(*value);
  if (one.type() == DataType::kF16) {
    std::ranges::fill(outputs[0].mutable_data<float>(), to_float(one.data<Half>()[0]));
    return {};
  }
  visit_size(one.type(), [&]<typename T>() { std::ranges::fill(raw<T>(outputs[0]), raw<T>(one)[0]); });
  return {};
}

}  // namespace

const OpParts kCast{.normalize = normalize_cast,
                    .infer = infer_cast,
                    .evaluate = evaluate_cast,
                    .traits = {.elementwise = Elementwise::kUnary}};
const OpParts kCastLike{.infer = infer_cast_like, .evaluate = evaluate_cast};
const OpParts kConstantOfShape{.infer = infer_constant_of_shape, .evaluate = evaluate_constant_of_shape};

}  // namespace kinglet::engine::ops
