// SPDX-License-Identifier: Apache-2.0
#include "engine/session/compare_graphs.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/base/words.h"
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

// Small whole numbers, or any of 8 bits.
template <std::integral T>
T made_integer(MadeInput kind, std::mt19937_64& random) {
  if (kind == MadeInput::kZeros) return T{};
  if constexpr (std::is_same_v<T, bool>) {
    return random() % 3 == 1;
  } else if constexpr (sizeof(T) > 1) {
    return static_cast<T>(random() % 3);
  } else {
    const T byte = static_cast<T>(random());
    return std::is_signed_v<T> && kind == MadeInput::kLargeNegative ? std::min(byte, static_cast<T>(-1)) : byte;
  }
}

Tensor make_tensor(const Value& value, MadeInput kind, std::mt19937_64& random) {
  Tensor tensor(value.type, *value.shape);
  std::normal_distribution<float> normal;
  with_element(value.type, [&]<typename T>() {
    for (T& x : tensor.mutable_data<T>()) {
      if constexpr (std::is_same_v<T, float>) {
        x = made_number(kind, normal(random));
      } else if constexpr (std::is_same_v<T, Half>) {
        x = to_half(made_number(kind, normal(random)));
      } else {
        x = made_integer<T>(kind, random);
      }
    }
  });
  return tensor;
}

}  // namespace

std::string_view to_string(MadeInput kind) {
  using enum MadeInput;
  static constexpr Word<MadeInput> kWords[] = {{kNormal, "normal random input"},
                                               {kLargeNegative, "large negative input"},
                                               {kZeros, "zeros"},
                                               {kTwoInBatch, "a batch of two"}};
  return word_of(kWords, kind);
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
