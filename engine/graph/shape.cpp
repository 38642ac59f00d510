// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/shape.h"

#include <algorithm>

#include "engine/base/format.h"

namespace kinglet::engine {

bool is_static(std::span<const Dim> shape) {
  return std::ranges::none_of(shape, [](Dim dim) { return dim == kUnknownDim; });
}

std::optional<std::int64_t> element_count(std::span<const Dim> shape) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 62;
  std::int64_t count = 1;
  bool overflow = false;
  for (const Dim dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) return 0;
    if (count > kLimit / dim) overflow = true;
    if (!overflow) count *= dim;
  }
  if (overflow) return std::nullopt;
  return count;
}

std::optional<Shape> broadcast(std::span<const Dim> a, std::span<const Dim> b) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {  // from the innermost dimension outwards
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : 1;
    Dim& dim = out[out.size() - 1 - i];
    if (x == y || y == 1 || (y == kUnknownDim && x != 1)) {
      dim = x;
    } else if (x == 1 || x == kUnknownDim) {
      dim = y;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::vector<std::int64_t> row_major_strides(std::span<const Dim> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

Result<std::size_t> normalize_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    return fail(ErrorCode::kBadData, format_text("axis {} does not exist in a tensor of {} dimensions", axis, rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::string to_string(std::span<const Dim> shape) {
  std::string out = "[";
  for (const Dim dim : shape) {
    if (out.size() > 1) out += ',';
    out += dim == kUnknownDim ? "?" : std::to_string(dim);
  }
  return out + "]";
}

}  // namespace kinglet::engine
