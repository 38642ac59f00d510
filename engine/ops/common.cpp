// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/common.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "engine/base/format.h"

namespace kinglet::engine::ops {

std::optional<DataType> type_of_number(std::int64_t number) {
  using enum DataType;
  static constexpr std::pair<std::int64_t, DataType> kOnnxNumbers[] = {{1, kF32}, {2, kU8},   {3, kI8},  {6, kI32},
                                                                       {7, kI64}, {9, kBool}, {10, kF16}};
  for (const auto& [of_onnx, type] : kOnnxNumbers) {
    if (of_onnx == number) return type;
  }
  return std::nullopt;
}

Result<void> need_type(const InferContext& context, std::size_t input, TypeSet types) {
  if (!context.has_input(input)) return context.fail(format_text("input {} is missing", input));
  if (types.contains(context.input_type(input))) return {};
  return context.fail(
      format_text("input {} is {}, which this operator does not take", input, to_string(context.input_type(input))));
}

Result<void> need_type_of(const InferContext& context, std::size_t input, std::size_t like) {
  if (!context.has_input(input)) return context.fail(format_text("input {} is missing", input));
  if (context.input_type(input) == context.input_type(like)) return {};
  return context.fail(format_text("input {} is {}, but input {} is {}", like, to_string(context.input_type(like)),
                                  input, to_string(context.input_type(input))));
}

Result<std::optional<std::size_t>> need_rank(const InferContext& context, std::size_t input, std::size_t low,
                                             std::size_t high) {
  const std::optional<Shape>& shape = context.input_shape(input);
  if (!shape) return std::nullopt;
  if (shape->size() >= low && shape->size() <= high) return shape->size();
  return context.fail(format_text("input {} has shape {}, expected {} dimensions", input, to_string(*shape),
                                  low == high        ? std::to_string(low)
                                  : high == kMaxRank ? format_text("{} or more", low)
                                                     : format_text("{} to {}", low, high)));
}

Result<std::vector<std::int64_t>> checked_ints(const InferContext& context, std::string_view name, std::size_t count,
                                               std::int64_t fallback, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> values = context.attributes().get_ints(name);
  if (values.empty()) return std::vector<std::int64_t>(count, fallback);
  if (values.size() != count) {
    return context.fail(format_text("attribute {} has {} numbers, expected {}", name, values.size(), count));
  }
  for (const std::int64_t value : values) {
    if (value < low || value > high) return context.fail(format_text("attribute {} holds {}", name, value));
  }
  return values;
}

Result<std::int64_t> checked_int(const InferContext& context, std::string_view name, std::int64_t fallback,
                                 std::int64_t low, std::int64_t high) {
  const std::int64_t value = context.attributes().get_int(name, fallback);
  if (value >= low && value <= high) return value;
  return context.fail(format_text("attribute {} is {}, expected {} to {}", name, value, low, high));
}

Result<std::size_t> checked_axis(const InferContext& context, std::int64_t axis, std::size_t rank) {
  const Result<std::size_t> index = normalize_axis(axis, rank);
  if (index) return *index;
  return context.fail(index.error().message);
}

Result<std::vector<std::size_t>> checked_axes(const InferContext& context, std::span<const std::int64_t> axes,
                                              std::size_t rank) {
  std::vector<std::size_t> out;
  for (const std::int64_t axis : axes) {
    const std::size_t index = KINGLET_TRY(checked_axis(context, axis, rank));
    if (std::ranges::find(out, index) != out.end()) return context.fail(format_text("axis {} is named twice", axis));
    out.push_back(index);
  }
  return out;
}

Result<std::optional<Shape>> broadcast_inputs(const InferContext& context) {
  Shape shape;
  bool known = true;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) continue;
    const std::optional<Shape>& next = context.input_shape(i);
    if (!next) {
      known = false;
      continue;
    }
    std::optional<Shape> both = broadcast(shape, *next);
    if (!both) {
      return context.fail(format_text("shapes {} and {} do not broadcast", to_string(shape), to_string(*next)));
    }
    shape = std::move(*both);
  }
  if (!known) return std::nullopt;
  return shape;
}

std::vector<std::int64_t> broadcast_strides(std::span<const Dim> shape, std::span<const Dim> target) {
  KINGLET_CHECK(shape.size() <= target.size());
  const std::vector<std::int64_t> dense = row_major_strides(shape);
  std::vector<std::int64_t> strides(target.size(), 0);
  const std::size_t lead = target.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) strides[lead + i] = shape[i] == 1 ? 0 : dense[i];
  return strides;
}

void copy_strided(const Tensor& from, std::int64_t start, const std::vector<std::int64_t>& strides, Tensor& to) {
  // Row by row: the last axis is a loop of its own.
  std::span<const Dim> shape = to.shape();
  const Dim columns = shape.empty() ? 1 : shape.back();
  const std::int64_t stride = shape.empty() ? 0 : strides.back();
  if (!shape.empty()) shape = shape.first(shape.size() - 1);
  const std::vector<std::int64_t> outer(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(shape.size()));
  visit_size(to.type(), [&]<typename T>() {
    const std::span<const T> source = raw<T>(from);
    const std::span<T> target = raw<T>(to);
    std::size_t next = 0;
    walk<1>(shape, {outer}, [&](const std::array<std::int64_t, 1>& row) {
      std::int64_t at = start + row[0];
      for (Dim column = 0; column < columns; ++column, at += stride)
        target[next++] = source[static_cast<std::size_t>(at)];
    });
  });
}

Tensor transposed(const Tensor& matrix) {
  constexpr std::size_t kTile = 32;  // its lines of both matrices fit into the nearest cache
  const auto rows = static_cast<std::size_t>(matrix.shape()[0]);
  const auto columns = static_cast<std::size_t>(matrix.shape()[1]);
  Tensor out(matrix.type(), {matrix.shape()[1], matrix.shape()[0]});
  visit_size(out.type(), [&]<typename T>() {
    const T* const source = raw<T>(matrix).data();
    T* const target = raw<T>(out).data();
    for (std::size_t top = 0; top < rows; top += kTile) {
      const std::size_t height = std::min(kTile, rows - top);
      for (std::size_t column = 0; column < columns; ++column) {
        const T* from = source + top * columns + column;
        T* const to = target + column * rows + top;
        for (std::size_t row = 0; row < height; ++row, from += columns) to[row] = *from;
      }
    }
  });
  return out;
}

AxisView view_axis(std::span<const Dim> shape, std::size_t axis) {
  const auto product = [](std::span<const Dim> dims) {
    return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  };
  return {product(shape.first(axis)), shape[axis], product(shape.subspan(axis + 1))};
}

}  // namespace kinglet::engine::ops
