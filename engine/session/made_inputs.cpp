// SPDX-License-Identifier: Apache-2.0
#include "engine/session/compare_graphs.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/graph/float16.h"
#include "engine/ops/op.h"

namespace kinglet::engine {
namespace {

constexpr std::uint64_t kSeed = 20'240'229;
// Sides tried for free dimensions other than the batch, the usual ones of image models first.
constexpr Dim kSides[] = {224, 256, 299, 128, 64, 32, 16, 8, 4, 2, 1};

// Dimension 0 of an input (the batch) or any other is free.
bool is_free(const Graph& graph, bool batch) {
  return std::ranges::any_of(graph.inputs(), [&](const GraphInput& input) {
    const std::optional<Shape>& shape = graph.value(input.value).shape;
    if (!shape) return !batch;
    for (std::size_t i = 0; i < shape->size(); ++i) {
      if ((*shape)[i] == kUnknownDim && (i == 0) == batch) return true;
    }
    return false;
  });
}

float made_number(MadeInput kind, float normal) {
  switch (kind) {
    case MadeInput::kZeros:
      return 0;
    case MadeInput::kLargeNegative:
      return -20.0F - 10.0F * std::abs(normal);
    default:
      return normal;
  }
}

Tensor make_tensor(const Value& value, MadeInput kind, std::mt19937_64& random) {
  Tensor tensor(value.type, *value.shape);
  std::normal_distribution<float> normal;
  const auto small = [&] { return kind == MadeInput::kZeros ? 0 : static_cast<int>(random() % 3); };
  switch (value.type) {
    case DataType::kF32:
      for (float& x : tensor.mutable_data<float>()) x = made_number(kind, normal(random));
      break;
    case DataType::kF16:
      for (Half& x : tensor.mutable_data<Half>()) x = to_half(made_number(kind, normal(random)));
      break;
    case DataType::kU8:
      for (std::uint8_t& x : tensor.mutable_data<std::uint8_t>()) {
        x = kind == MadeInput::kZeros ? 0 : static_cast<std::uint8_t>(random());
      }
      break;
    case DataType::kI8:
      for (std::int8_t& x : tensor.mutable_data<std::int8_t>()) {
        const auto byte = static_cast<std::int8_t>(random());
        x = kind == MadeInput::kZeros           ? std::int8_t{0}
            : kind == MadeInput::kLargeNegative ? std::min(byte, std::int8_t{-1})
                                                : byte;
      }
      break;
    case DataType::kI64:
      for (std::int64_t& x : tensor.mutable_data<std::int64_t>()) x = small();
      break;
    case DataType::kI32:
      for (std::int32_t& x : tensor.mutable_data<std::int32_t>()) x = small();
      break;
    case DataType::kBool:
      for (bool& x : tensor.mutable_data<bool>()) x = small() == 1;
      break;
  }
  return tensor;
}

}  // namespace

std::string_view to_string(MadeInput kind) {
  switch (kind) {
    case MadeInput::kNormal:
      return "normal random input";
    case MadeInput::kLargeNegative:
      return "large negative input";
    case MadeInput::kZeros:
      return "zeros";
    case MadeInput::kTwoInBatch:
      return "a batch of two";
  }
  return "?";
}

bool has_free_batch(const Graph& graph) { return is_free(graph, true); }

Result<Graph> bind_inputs(const Graph& graph, Dim batch, Dim side) {
  Graph bound = graph;
  for (std::size_t i = 0; i < bound.inputs().size(); ++i) {
    const Value& value = bound.value(bound.inputs()[i].value);
    if (!value.shape) {
      return fail(ErrorCode::kBadData, format_text("input \"{}\" has no known rank", printable(value.name)), {},
                  "set its shape first: `kinglet edit input --shape`");
    }
    Shape shape = *value.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == kUnknownDim) shape[axis] = axis == 0 ? batch : side;
    }
    bound.set_input_shape(i, std::move(shape));
  }
  KINGLET_TRY(infer_shapes(bound));
  return bound;
}

Result<Dim> find_side(const Graph& graph) {
  if (!is_free(graph, false)) return kSides[0];
  std::optional<Error> first;
  for (const Dim side : kSides) {
    const auto bound = bind_inputs(graph, 1, side);
    if (bound) return side;
    if (!first) first = bound.error();
  }
  return std::unexpected(*first);
}

std::vector<Tensor> make_inputs(const Graph& bound, MadeInput kind) {
  std::mt19937_64 random(kSeed + static_cast<std::uint64_t>(kind));
  std::vector<Tensor> tensors;
  for (const GraphInput& input : bound.inputs()) tensors.push_back(make_tensor(bound.value(input.value), kind, random));
  return tensors;
}

}  // namespace kinglet::engine
