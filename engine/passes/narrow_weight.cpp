// SPDX-License-Identifier: Apache-2.0
#include "engine/passes/narrow_weight.h"

#include <algorithm>

namespace kinglet::engine {
namespace {

// One of so many channels may be wide: each is computed twice, and the second time more slowly.
constexpr std::size_t kChannelsForAWideOne = 8;

// The numbers of a weight as they lie: [outer,count,inner], a run of `inner` of one output channel after the other.
struct Runs {
  Runs(const Shape& shape, std::size_t axis) : count(static_cast<std::size_t>(shape[axis])) {
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  }
  // Calls take(channel, where its run begins) for all of `size` numbers.
  template <typename Take>
  void for_each(std::size_t size, const Take& take) const {
    for (std::size_t run = 0; run * inner < size; ++run) take(run % count, run * inner);
  }
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
  const Runs runs(levels.shape(), axis);
  const auto from = levels.data<std::uint8_t>();
  std::vector<bool> is_wide(runs.count);
  runs.for_each(from.size(), [&](std::size_t channel, std::size_t first) {
    std::uint8_t least = 255, most = 0;
    for (const std::uint8_t level : from.subspan(first, runs.inner)) {
      least = std::min(least, level);
      most = std::max(most, level);
    }
    if (least - zero < -128 || most - zero > 127) is_wide[channel] = true;
  });
  NarrowWeight out{.levels = {}, .wide = {}};
  for (std::size_t channel = 0; channel < is_wide.size(); ++channel) {
    if (is_wide[channel]) out.wide.push_back(static_cast<std::int64_t>(channel));
  }
  if (out.wide.size() * kChannelsForAWideOne > runs.count) return std::nullopt;
  out.levels = Tensor(DataType::kI8, levels.shape());
  const auto to = out.levels.mutable_data<std::int8_t>();
  runs.for_each(from.size(), [&](std::size_t channel, std::size_t first) {
    if (is_wide[channel]) return;  // all 0, as they are
    std::ranges::transform(from.subspan(first, runs.inner), to.subspan(first).begin(),
                           [&](std::uint8_t level) { return static_cast<std::int8_t>(level - zero); });
  });
  return out;
}

Tensor channels_of(const Tensor& levels, std::size_t axis, const std::vector<std::int64_t>& wanted) {
  const Runs runs(levels.shape(), axis);
  Shape shape{static_cast<Dim>(wanted.size())};
  for (std::size_t i = 0; i < levels.shape().size(); ++i) {
    if (i != axis) shape.push_back(levels.shape()[i]);
  }
  Tensor out(DataType::kU8, shape);
  const auto from = levels.data<std::uint8_t>();
  auto to = out.mutable_data<std::uint8_t>().begin();
  for (const std::int64_t one : wanted) {
    runs.for_each(from.size(), [&](std::size_t channel, std::size_t first) {
      if (channel == static_cast<std::size_t>(one)) to = std::ranges::copy(from.subspan(first, runs.inner), to).out;
    });
  }
  return out;
}

}  // namespace kinglet::engine
