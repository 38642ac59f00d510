// SPDX-License-Identifier: Apache-2.0
// Why: tensor shapes. A dimension is a count or unknown; names of free dimensions live at the graph's inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/error.h"

namespace kinglet::engine {

using Dim = std::int64_t;
inline constexpr Dim kUnknownDim = -1;

// Dimensions from outermost to innermost, each >= 0 or kUnknownDim. Rank 0 is a scalar.
using Shape = std::vector<Dim>;

// True when no dimension is unknown.
[[nodiscard]] bool is_static(std::span<const Dim> shape);

// Product of the dimensions; nothing when one is unknown, when one is negative, or when it overflows 2^62.
[[nodiscard]] std::optional<std::int64_t> element_count(std::span<const Dim> shape);

// Numpy broadcasting (ONNX, "Multidirectional Broadcasting"). An unknown against 1 or unknown stays unknown, against
// n > 1 it is n. Nothing when the shapes do not fit.
[[nodiscard]] std::optional<Shape> broadcast(std::span<const Dim> a, std::span<const Dim> b);

// Row-major strides in elements.
[[nodiscard]] std::vector<std::int64_t> row_major_strides(std::span<const Dim> shape);

// An axis of ONNX (-rank..rank-1) made non-negative; kBadData names the axis and the rank.
[[nodiscard]] Result<std::size_t> normalize_axis(std::int64_t axis, std::size_t rank);

// "[1,3,224,224]"; an unknown dimension is "?".
[[nodiscard]] std::string to_string(std::span<const Dim> shape);

}  // namespace kinglet::engine
