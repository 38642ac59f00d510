// SPDX-License-Identifier: Apache-2.0
// Tensors made from little: Range counts, EyeLike draws a diagonal, Trilu keeps one triangle of each matrix.
#include <algorithm>
#include <cmath>

#include "engine/base/format.h"
#include "engine/ops/common.h"
#include "engine/ops/out_of_scope.h"
#include "engine/ops/rows.h"

namespace kinglet::engine::ops {
namespace {

// --- Range: start, limit, delta -> start, start + delta ... below (or above) limit

// How many numbers; nothing when delta is 0 or not a number. Differences of 64-bit integers are taken unsigned, so that
// none overflows; those of floats in float, as ONNX Runtime takes them.
template <typename T>
std::optional<double> range_count(T start, T limit, T delta) {
  if (!(delta > T{0}) && !(delta < T{0})) return std::nullopt;
  if constexpr (std::is_same_v<T, float>) {
    const double count = std::ceil(static_cast<double>(limit - start) / static_cast<double>(delta));
    if (std::isnan(count)) return std::nullopt;
    return std::max(count, 0.0);
  } else {
    const bool up = delta > 0;
    if (up ? limit <= start : limit >= start) return 0.0;
    const auto wide = [](T x) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)); };
    const std::uint64_t distance = up ? wide(limit) - wide(start) : wide(start) - wide(limit);
    const std::uint64_t step = up ? wide(delta) : std::uint64_t{0} - wide(delta);
    const std::uint64_t count = distance / step + (distance % step != 0 ? 1 : 0);
    return static_cast<double>(count);
  }
}

Result<void> infer_range(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, {DataType::kF32, DataType::kI64, DataType::kI32}));
  bool known = true;
  for (std::size_t i = 0; i < 3; ++i) {
    KINGLET_TRY(need_type_of(context, i, 0));
    const Tensor* number = context.input_constant(i);
    known = known && number != nullptr;
    if (number != nullptr && number->element_count() != 1) {
      return context.fail(format_text("input {} has shape {}, expected one number", i, to_string(number->shape())));
    }
  }
  Dim length = kUnknownDim;
  if (known) {
    std::optional<double> count;
    visit_type(context.input_type(0), [&]<typename T>() {
      const auto number = [&](std::size_t i) { return context.input_constant(i)->data<T>()[0]; };
      if constexpr (!std::is_same_v<T, bool>) count = range_count<T>(number(0), number(1), number(2));
    });
    if (!count) return context.fail("never reaches its limit", "delta must be a number other than 0");
    if (!(*count <= static_cast<double>(kMaxDim))) return context.fail(format_text("has {} numbers", *count));
    length = static_cast<Dim>(*count);
  }
  context.set_output(0, context.input_type(0), Shape{length});
  return {};
}

Result<void> evaluate_range(const Node& /*node*/, Inputs inputs, std::span<Tensor> outputs) {
  visit_type(outputs[0].type(), [&]<typename T>() {
    const T start = inputs[0]->data<T>()[0];
    const T delta = inputs[2]->data<T>()[0];
    const auto to = outputs[0].mutable_data<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      if constexpr (std::is_same_v<T, float>) {
        to[i] = static_cast<float>(static_cast<double>(start) + static_cast<double>(i) * static_cast<double>(delta));
      } else {
        const auto wide = [](T x) { return static_cast<std::uint64_t>(x); };
        to[i] = static_cast<T>(wide(start) + i * wide(delta));
      }
    }
  });
  return {};
}

// --- EyeLike --------------------------------------------------------------------------------------------------------

Result<void> infer_eye_like(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_rank(context, 0, 2, 2));
  DataType type = context.input_type(0);
  if (context.attributes().find("dtype") != nullptr) {
    const std::int64_t number = context.attributes().get_int("dtype", 0);
    const std::optional<DataType> wanted = type_of_number(number);
    if (!wanted) return context.refuse(format_text("makes {}", describe_refused_type(number)));
    type = *wanted;
  }
  context.set_output(0, type, context.input_shape(0));
  return {};
}

Result<void> evaluate_eye_like(const Node& node, Inputs /*inputs*/, std::span<Tensor> outputs) {
  const std::int64_t k = node.attributes.get_int("k", 0);
  const std::int64_t columns = outputs[0].shape()[1];
  visit_type(outputs[0].type(), [&]<typename T>() {
    const auto to = outputs[0].mutable_data<T>();
    for (std::int64_t row = 0; row < outputs[0].shape()[0]; ++row) {
      if (k < -row || k >= columns - row) continue;
      to[static_cast<std::size_t>(row * columns + row + k)] = T{1};
    }
  });
  return {};
}

// --- Trilu: x [..., rows, columns], k -------------------------------------------------------------------------------

Result<void> infer_trilu(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kAnyType));
  KINGLET_TRY(need_rank(context, 0, 2));
  if (context.has_input(1)) {
    KINGLET_TRY(need_type(context, 1, {DataType::kI64}));
    if (const Tensor* k = context.input_constant(1); k != nullptr && k->element_count() != 1) {
      return context.fail("k is not one number");
    }
  }
  context.set_output(0, context.input_type(0), context.input_shape(0));
  return {};
}

Result<void> evaluate_trilu(const Node& node, Inputs inputs, std::span<Tensor> outputs) {
  const bool upper = node.attributes.get_int("upper", 1) != 0;
  const std::int64_t k = inputs.size() > 1 && inputs[1] != nullptr ? inputs[1]->to_int64s()[0] : 0;
  const Shape& shape = outputs[0].shape();
  const std::int64_t rows = shape[shape.size() - 2];
  const std::int64_t columns = shape.back();
  visit_size(outputs[0].type(), [&]<typename T>() {
    const auto from = raw<T>(*inputs[0]);
    const auto to = raw<T>(outputs[0]);
    for (std::size_t i = 0; i < to.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t right_of_diagonal = at % columns - at / columns % rows;
      to[i] = (upper ? right_of_diagonal >= k : right_of_diagonal <= k) ? from[i] : T{0};
    }
  });
  return {};
}

}  // namespace

const OpParts kRange{.infer = infer_range, .evaluate = evaluate_range, .traits = {.fits_half = false}};
const OpParts kEyeLike{.infer = infer_eye_like, .evaluate = evaluate_eye_like};
const OpParts kTrilu{.infer = infer_trilu, .evaluate = evaluate_trilu};

}  // namespace kinglet::engine::ops
