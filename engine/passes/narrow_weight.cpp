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
    for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(shape[i]);
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  }
  std::size_t outer = 1, count, inner = 1;

  // What `numbers` has of a channel in one of `outer`.
  template <typename Number>
  [[nodiscard]] std::span<Number> of(std::span<Number> numbers, std::size_t at, std::size_t channel) const {
    return numbers.subspan((at * count + channel) * inner, inner);
  }
};

struct Ends {
  explicit Ends(std::size_t channels) : least(channels, 255), most(channels, 0) {}
  std::vector<std::uint8_t> least, most;
};

// Channels that lie side by side are looked at together, as many as a vector holds.
Ends ends_of(std::span<const std::uint8_t> numbers, const Runs& runs) {
  Ends ends(runs.count);
  for (std::size_t at = 0; at < runs.outer; ++at) {
    for (std::size_t channel = 0; channel < runs.count && runs.inner > 1; ++channel) {
      std::uint8_t least = ends.least[channel], most = ends.most[channel];
      for (const std::uint8_t number : runs.of(numbers, at, channel)) {
        least = std::min(least, number);
        most = std::max(most, number);
      }
      ends.least[channel] = least;
      ends.most[channel] = most;
    }
    if (runs.inner > 1) continue;
    const auto row = numbers.subspan(at * runs.count, runs.count);
    for (std::size_t i = 0; i < row.size(); ++i) ends.least[i] = std::min(ends.least[i], row[i]);
    for (std::size_t i = 0; i < row.size(); ++i) ends.most[i] = std::max(ends.most[i], row[i]);
  }
  return ends;
}

}  // namespace

std::optional<NarrowWeight> narrowed(const Tensor& levels, const Tensor& zero_point, std::size_t axis) {
  if (levels.type() != DataType::kU8 || zero_point.type() != DataType::kU8 || zero_point.element_count() == 0 ||
      levels.element_count() == 0 || axis >= levels.shape().size())
    return std::nullopt;
  const auto zeros = zero_point.data<std::uint8_t>();
  const std::uint8_t zero = zeros.front();
  if (std::ranges::any_of(zeros, [&](std::uint8_t other) { return other != zero; })) return std::nullopt;
  const Runs runs(levels.shape(), axis);
  const auto from = levels.data<std::uint8_t>();
  const Ends ends = ends_of(from, runs);
  NarrowWeight out{.levels = {}, .wide = {}};
  for (std::size_t channel = 0; channel < runs.count; ++channel) {
    const bool fits = ends.least[channel] - zero >= -128 && ends.most[channel] - zero <= 127;
    if (!fits) out.wide.push_back(static_cast<std::int64_t>(channel));
  }
  if (out.wide.size() * kChannelsForAWideOne > runs.count) return std::nullopt;
  out.levels = Tensor(DataType::kI8, levels.shape());
  const auto to = out.levels.mutable_data<std::int8_t>();
  std::ranges::transform(from, to.begin(),
                         [zero](std::uint8_t level) { return static_cast<std::int8_t>(level - zero); });
  for (const std::int64_t channel : out.wide) {
    for (std::size_t at = 0; at < runs.outer; ++at)
      std::ranges::fill(runs.of(to, at, static_cast<std::size_t>(channel)), std::int8_t{0});
  }
  return out;
}

Tensor channels_of(const Tensor& levels, std::size_t axis, const std::vector<std::int64_t>& wanted) {
  const Runs runs(levels.shape(), axis);
  Shape shape{static_cast<Dim>(wanted.size())};
  for (std::size_t i = 0; i < levels.shape().size(); ++i) {
    if (i != axis) shape.push_back(levels.shape()[i]);
  }
  Tensor out(DataType::kU8, shape);
  auto to = out.mutable_data<std::uint8_t>().begin();
  for (const std::int64_t channel : wanted) {
    for (std::size_t at = 0; at < runs.outer; ++at)
      to = std::ranges::copy(runs.of(levels.data<std::uint8_t>(), at, static_cast<std::size_t>(channel)), to).out;
  }
  return out;
}

}  // namespace kinglet::engine
