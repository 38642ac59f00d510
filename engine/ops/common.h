// SPDX-License-Identifier: Apache-2.0
// Why: what most operators' infer and evaluate share: type sets, checked attributes, dispatch by element type, walking
// several tensors of one broadcast shape.
//
// evaluate() never sees f16: evaluate_node widens f16 to f32 around it (exact) and rounds the results once.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/error.h"
#include "engine/graph/shape.h"
#include "engine/graph/tensor.h"
#include "engine/ops/op.h"

namespace kinglet::engine::ops {

// --- Limits. Everything below them fits 64-bit arithmetic without overflow checks in the operators. -----------------
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 31;
inline constexpr std::int64_t kMaxTensorBytes = std::int64_t{1} << 31;
inline constexpr std::size_t kMaxRank = 16;

// --- Types ---------------------------------------------------------------------------------------------------------
// A structural type, so that it can be a template argument.
struct TypeSet {
  unsigned mask = 0;

  constexpr TypeSet(std::initializer_list<DataType> types) {
    for (const DataType type : types) mask |= 1U << static_cast<unsigned>(type);
  }
  [[nodiscard]] constexpr bool contains(DataType type) const {
    return ((mask >> static_cast<unsigned>(type)) & 1U) != 0;
  }
};
inline constexpr TypeSet kFloats{DataType::kF32, DataType::kF16};
inline constexpr TypeSet kIndices{DataType::kI64, DataType::kI32};
inline constexpr TypeSet kBytes{DataType::kI8, DataType::kU8};
inline constexpr TypeSet kNumbers{DataType::kF32, DataType::kF16, DataType::kI64,
                                  DataType::kI32, DataType::kI8,  DataType::kU8};
inline constexpr TypeSet kAnyType{DataType::kF32, DataType::kF16, DataType::kI64, DataType::kI32,
                                  DataType::kI8,  DataType::kU8,  DataType::kBool};
inline constexpr TypeSet kBool{DataType::kBool};

// The type of a TensorProto.DataType number (Cast's `to` ...); nothing for one kinglet does not have.
[[nodiscard]] std::optional<DataType> type_of_number(std::int64_t number);

// kBadData when the input is absent or its type is not in the set.
[[nodiscard]] Result<void> need_type(const InferContext& context, std::size_t input, TypeSet types);
// The same, and equal to the type of input `like`.
[[nodiscard]] Result<void> need_type_of(const InferContext& context, std::size_t input, std::size_t like);
// The rank of the input when known; kBadData outside [low, high]. Nothing when unknown.
[[nodiscard]] Result<std::optional<std::size_t>> need_rank(const InferContext& context, std::size_t input,
                                                           std::size_t low, std::size_t high = kMaxRank);

// --- Attributes ----------------------------------------------------------------------------------------------------
// Each number in [low, high], and `count` of them; `fallback` (repeated) when the attribute is absent.
[[nodiscard]] Result<std::vector<std::int64_t>> checked_ints(const InferContext& context, std::string_view name,
                                                             std::size_t count, std::int64_t fallback, std::int64_t low,
                                                             std::int64_t high);
[[nodiscard]] Result<std::int64_t> checked_int(const InferContext& context, std::string_view name,
                                               std::int64_t fallback, std::int64_t low, std::int64_t high);
// The axis attribute as an index below `rank`.
[[nodiscard]] Result<std::size_t> checked_axis(const InferContext& context, std::int64_t axis, std::size_t rank);
// Axes of a list: in range, no duplicates, in the order given.
[[nodiscard]] Result<std::vector<std::size_t>> checked_axes(const InferContext& context,
                                                            std::span<const std::int64_t> axes, std::size_t rank);
// For evaluate, after infer has checked the same axis.
[[nodiscard]] inline std::size_t axis_index(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

// --- Inference that many operators share -----------------------------------------------------------------------------
// Output 0 has type and shape of input 0.
template <TypeSet kTypes>
[[nodiscard]] Result<void> infer_same(InferContext& context) {
  KINGLET_TRY(need_type(context, 0, kTypes));
  context.set_output(0, context.input_type(0), context.input_shape(0));
  return {};
}
// The broadcast shape of all inputs; nothing when one is not known. kBadData names the two shapes that do not fit.
[[nodiscard]] Result<std::optional<Shape>> broadcast_inputs(const InferContext& context);

// The result of a Shape or Size node from its input's shape alone; false for other operators.
[[nodiscard]] bool shape_numbers(const Node& node, std::span<const Dim> shape, Tensor& numbers);

// --- Evaluation ------------------------------------------------------------------------------------------------------
// Calls f.template operator()<T>() for the element type of `type`; not for f16 (see above).
template <typename F>
decltype(auto) visit_type(DataType type, F&& f) {
  switch (type) {
    case DataType::kF32:
      return f.template operator()<float>();
    case DataType::kI64:
      return f.template operator()<std::int64_t>();
    case DataType::kI32:
      return f.template operator()<std::int32_t>();
    case DataType::kI8:
      return f.template operator()<std::int8_t>();
    case DataType::kU8:
      return f.template operator()<std::uint8_t>();
    case DataType::kBool:
      return f.template operator()<bool>();
    case DataType::kF16:
      break;
  }
  KINGLET_CHECK(type != DataType::kF16);
  return f.template operator()<float>();
}

// The same for copying only: an unsigned integer of the element's size.
template <typename F>
decltype(auto) visit_size(DataType type, F&& f) {
  switch (byte_size(type)) {
    case 8:
      return f.template operator()<std::uint64_t>();
    case 4:
      return f.template operator()<std::uint32_t>();
    case 2:
      return f.template operator()<std::uint16_t>();
    default:
      return f.template operator()<std::uint8_t>();
  }
}
// The tensor's elements as unsigned integers of their size.
template <typename T>
std::span<const T> raw(const Tensor& tensor) {
  KINGLET_CHECK(byte_size(tensor.type()) == sizeof(T));
  return {reinterpret_cast<const T*>(tensor.bytes().data()), static_cast<std::size_t>(tensor.element_count())};
}
template <typename T>
std::span<T> raw(Tensor& tensor) {
  KINGLET_CHECK(byte_size(tensor.type()) == sizeof(T));
  return {reinterpret_cast<T*>(tensor.mutable_bytes().data()), static_cast<std::size_t>(tensor.element_count())};
}

// Strides of a tensor of `shape` read under the broadcast shape `target`: 0 where it repeats.
[[nodiscard]] std::vector<std::int64_t> broadcast_strides(std::span<const Dim> shape, std::span<const Dim> target);

// Calls f(offsets) for each index of `shape` in row-major order; offsets[k] is the dot product of index and strides[k].
template <std::size_t N, typename F>
void walk(std::span<const Dim> shape, const std::array<std::vector<std::int64_t>, N>& strides, F&& f) {
  const std::size_t rank = shape.size();
  for (const Dim dim : shape) {
    if (dim == 0) return;
  }
  std::vector<Dim> index(rank, 0);
  std::array<std::int64_t, N> offsets{};
  while (true) {
    f(offsets);
    std::size_t axis = rank;
    while (axis > 0) {
      --axis;
      for (std::size_t k = 0; k < N; ++k) offsets[k] += strides[k][axis];
      if (++index[axis] < shape[axis]) break;
      for (std::size_t k = 0; k < N; ++k) offsets[k] -= strides[k][axis] * shape[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (rank == 0) return;
  }
}

// to = from[offset of strides]: copies elements of any type in the order of `to`'s shape.
void copy_strided(const Tensor& from, std::int64_t start, const std::vector<std::int64_t>& strides, Tensor& to);
[[nodiscard]] Tensor transposed(const Tensor& matrix);  // [K,N] -> [N,K]

// A tensor seen as [outer, axis, inner].
struct AxisView {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;
};
[[nodiscard]] AxisView view_axis(std::span<const Dim> shape, std::size_t axis);

}  // namespace kinglet::engine::ops
