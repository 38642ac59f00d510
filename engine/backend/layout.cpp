// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/layout.h"

#include <array>
#include <cstring>

#include "engine/base/check.h"

namespace kinglet::engine {
namespace {

constexpr std::array<std::size_t, 4> kNhwcOfNchw{0, 3, 1, 2};  // place of logical axis i
constexpr std::array<std::size_t, 4> kNchwOfNhwc{0, 2, 3, 1};  // logical axis at place i

// [outer, rows, columns] -> [outer, columns, rows]
template <typename T>
void transpose_planes(std::size_t outer, std::size_t rows, std::size_t columns, const std::byte* source,
                      std::byte* target) {
  for (std::size_t o = 0; o < outer; ++o) {
    const std::byte* from = source + o * rows * columns * sizeof(T);
    std::byte* to = target + o * rows * columns * sizeof(T);
    for (std::size_t c = 0; c < columns; ++c) {
      for (std::size_t r = 0; r < rows; ++r) {
        std::memcpy(to + (c * rows + r) * sizeof(T), from + (r * columns + c) * sizeof(T), sizeof(T));
      }
    }
  }
}

}  // namespace

Shape physical_shape(const Shape& logical, Layout layout) {
  if (layout == Layout::kLogical) return logical;
  KINGLET_CHECK(logical.size() == 4);
  return {logical[0], logical[2], logical[3], logical[1]};
}

std::size_t physical_axis(std::size_t logical_axis, Layout layout) {
  if (layout == Layout::kLogical) return logical_axis;
  KINGLET_CHECK(logical_axis < 4);
  return kNhwcOfNchw[logical_axis];
}

std::size_t logical_axis(std::size_t physical_axis, Layout layout) {
  if (layout == Layout::kLogical) return physical_axis;
  KINGLET_CHECK(physical_axis < 4);
  return kNchwOfNhwc[physical_axis];
}

bool layout_neutral(const Shape& logical) {
  return logical.size() != 4 || logical[1] == 1 || (logical[2] == 1 && logical[3] == 1);
}

void copy_layout(const Shape& logical, std::size_t element_size, std::span<const std::byte> source, Layout from,
                 std::span<std::byte> target, Layout to) {
  KINGLET_CHECK(source.size() == target.size());
  if (source.empty()) return;
  if (from == to || layout_neutral(logical)) {
    std::memcpy(target.data(), source.data(), source.size());
    return;
  }
  const auto batch = static_cast<std::size_t>(logical[0]);
  const auto channels = static_cast<std::size_t>(logical[1]);
  const auto pixels = static_cast<std::size_t>(logical[2] * logical[3]);
  KINGLET_CHECK(batch * channels * pixels * element_size == source.size());
  const bool to_nhwc = to == Layout::kNhwc;
  const std::size_t rows = to_nhwc ? channels : pixels;
  const std::size_t columns = to_nhwc ? pixels : channels;
  switch (element_size) {
    case 1:
      return transpose_planes<std::uint8_t>(batch, rows, columns, source.data(), target.data());
    case 2:
      return transpose_planes<std::uint16_t>(batch, rows, columns, source.data(), target.data());
    case 4:
      return transpose_planes<std::uint32_t>(batch, rows, columns, source.data(), target.data());
    default:
      return transpose_planes<std::uint64_t>(batch, rows, columns, source.data(), target.data());
  }
}

}  // namespace kinglet::engine
