// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/narrow_weight.h"

#include <algorithm>

namespace kinglet::engine {
namespace {

// One of so many channels may be wide: each is computed twice, and the second time more slowly.
constexpr std::size_t kChannelsForAWideOne = 8;

// Of a number in the order of the tensor.
struct Channels {
  Channels(const Shape& shape, std::size_t axis) : count(static_cast<std::size_t>(shape[axis])) {
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  }
  [[nodiscard]] std::size_t of(std::size_t index) const { return index / inner % count; }
  std::size_t count, inner = 1;
};

}  // namespace

std::optional<NarrowWeight> narrowed(const Tensor& levels, const Tensor& zero_point, std::size_t axis) {
  if (levels.type() != DataType::kU8 || zero_point.type() != DataType::kU8 || zero_point.element_count() == 0 ||
      levels.element_count() == 0 || axis >= levels.shape().size())
    return std::nullopt;
  const auto zeros = zero_point.data<std::uint8_t>();
  const int zero = zeros.front();
  if (std::ranges::any_of(zeros, [&](std::uint8_t other) { return other != zero; })) return std::nullopt;
  const Channels channels(levels.shape(), axis);
  std::vector<bool> is_wide(channels.count);
  NarrowWeight out{.levels = Tensor(DataType::kI8, levels.shape()), .wide = {}};
  const auto from = levels.data<std::uint8_t>();
  const auto to = out.levels.mutable_data<std::int8_t>();
  const auto is_int8 = [](int number) { return number >= -128 && number <= 127; };
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!is_int8(from[i] - zero)) is_wide[channels.of(i)] = true;
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i] = is_wide[channels.of(i)] ? std::int8_t{0} : static_cast<std::int8_t>(from[i] - zero);
  }
  for (std::size_t channel = 0; channel < is_wide.size(); ++channel) {
    if (is_wide[channel]) out.wide.push_back(static_cast<std::int64_t>(channel));
  }
  if (out.wide.size() * kChannelsForAWideOne > channels.count) return std::nullopt;
  return out;
}

Tensor channels_of(const Tensor& levels, std::size_t axis, const std::vector<std::int64_t>& wanted) {
  const Channels channels(levels.shape(), axis);
  Shape shape{static_cast<Dim>(wanted.size())};
  for (std::size_t i = 0; i < levels.shape().size(); ++i) {
    if (i != axis) shape.push_back(levels.shape()[i]);
  }
  Tensor out(DataType::kU8, shape);
  const auto from = levels.data<std::uint8_t>();
  const auto to = out.mutable_data<std::uint8_t>();
  std::size_t at = 0;
  for (const std::int64_t channel : wanted) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (channels.of(i) == static_cast<std::size_t>(channel)) to[at++] = from[i];
    }
  }
  return out;
}

}  // namespace kinglet::engine
