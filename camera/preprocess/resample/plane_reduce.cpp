// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/plane_reduce.h"

#include <algorithm>
#include <array>

namespace kinglet::camera {
namespace {

constexpr std::int32_t kMostWeight = 15 * (1 << kWeightBits) / 16;

bool fits(const AxisWeights& axis) {
  const auto window = static_cast<std::size_t>(axis.window);
  for (std::size_t i = 0; i < axis.size(); ++i) {
    const auto weights = std::span(axis.weights).subspan(i * window, static_cast<std::size_t>(axis.count[i]));
    if (std::ranges::any_of(weights, [](std::int32_t weight) { return weight < 0 || weight > kMostWeight; })) {
      return false;
    }
  }
  return true;
}

// Weights of 7 bits in windows of this size. Each is the difference of rounded sums, so that they add up to one, and
// what rounding takes from one its neighbour has.
std::vector<std::uint8_t> to_small(const AxisWeights& axis, std::size_t window) {
  constexpr int kShift = kWeightBits - kSmallBits;
  const auto taps = static_cast<std::size_t>(axis.window);
  std::vector<std::uint8_t> small(axis.size() * window);
  for (std::size_t i = 0; i < axis.size(); ++i) {
    const auto count = static_cast<std::size_t>(axis.count[i]);
    std::int32_t sum = 0;
    std::int32_t given = 0;
    for (std::size_t k = 0; k < count; ++k) {
      sum += axis.weights[i * taps + k];
      const std::int32_t wanted = k + 1 == count ? 1 << kSmallBits : (sum + (1 << (kShift - 1))) >> kShift;
      small[i * window + k] = static_cast<std::uint8_t>(wanted - given);
      given = wanted;
    }
  }
  return small;
}

std::size_t rounded_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

}  // namespace

std::optional<PlaneReduce::Weave> PlaneReduce::weave_of(std::span<const PlaneResample::Channel> channels) {
  const auto stands = [&](std::size_t i, int step, int offset) {
    return channels[i].layout.step == step && channels[i].layout.offset == offset;
  };
  if (channels.size() == 1 && stands(0, 1, 0)) return Weave::kPlain;
  if (channels.size() == 2 && stands(0, 2, 0) && stands(1, 2, 1)) return Weave::kPairs;
  if (channels.size() == 3 && stands(0, 2, 0) && stands(1, 4, 1) && stands(2, 4, 3)) return Weave::kYuyv;
  return std::nullopt;
}

std::optional<PlaneReduce> PlaneReduce::make(std::span<const PlaneResample::Channel> channels,
                                             const AxisWeights& rows) {
  const std::optional<Weave> weave = weave_of(channels);
  const auto& columns_of = &PlaneResample::Channel::columns;
  if (!weave || !fits(rows) || !std::ranges::all_of(channels, fits, columns_of)) return std::nullopt;
  PlaneReduce made;
  made.kernels_ = &reduce_kernels().front();
  made.weave_ = *weave;
  made.first_row_ = rows.first;
  made.row_count_ = rows.count;
  made.row_window_ = rounded_up(static_cast<std::size_t>(rows.window), 2);
  made.row_weights_ = to_small(rows, made.row_window_);
  std::size_t begin = SIZE_MAX;
  std::size_t end = 0;
  for (const PlaneResample::Channel& channel : channels) {
    const auto step = static_cast<std::size_t>(channel.layout.step);
    const AxisWeights& columns = channel.columns;
    for (std::size_t x = 0; x < columns.size(); ++x) {
      begin = std::min(begin, static_cast<std::size_t>(columns.first[x]) * step);
      end = std::max(end, static_cast<std::size_t>(columns.first[x] + columns.count[x]) * step);
    }
  }
  constexpr std::array<std::size_t, 3> kGroups{1, 2, 4};  // bytes that belong together, by weave
  const std::size_t group = kGroups.at(static_cast<std::size_t>(*weave));
  made.first_byte_ = begin / group * group;
  made.bytes_ = rounded_up(end, group) - made.first_byte_;
  for (const PlaneResample::Channel& channel : channels) {
    const auto step = static_cast<std::size_t>(channel.layout.step);
    Narrow narrow{.first = channel.columns.first, .weights = {}, .row = {}};
    const auto taps = static_cast<std::size_t>(channel.columns.window);
    narrow.window = taps <= kByteLanes / 2 ? kByteLanes / 2 : rounded_up(taps, kByteLanes);
    narrow.weights = to_small(channel.columns, narrow.window);
    for (std::int32_t& first : narrow.first) first -= static_cast<std::int32_t>(made.first_byte_ / step);
    narrow.row.resize(made.bytes_ / step + narrow.window);
    made.channels_.push_back(std::move(narrow));
  }
  const std::size_t count = made.channels_.size();
  made.last_two_together_ = count > 1 && made.channels_[count - 2].goes_with(made.channels_[count - 1]);
  if (*weave != Weave::kPlain) made.blended_.resize(made.bytes_);
  if (*weave == Weave::kYuyv) made.chroma_.resize(made.bytes_ / 2);
  return made;
}

void PlaneReduce::run_row(const Plane& plane, std::size_t y, std::span<std::uint8_t* const> outputs) {
  const auto* top = reinterpret_cast<const std::uint8_t*>(plane.bytes.data()) +
                    static_cast<std::size_t>(first_row_[y]) * plane.stride + first_byte_;
  std::uint8_t* blended = weave_ == Weave::kPlain ? channels_[0].row.data() : blended_.data();
  kernels_->blend(top, plane.stride, bytes_, row_weights_.data() + y * row_window_, row_count_[y], blended);
  if (weave_ == Weave::kPairs) {
    kernels_->split(blended, bytes_ / 2, channels_[0].row.data(), channels_[1].row.data());
  } else if (weave_ == Weave::kYuyv) {
    kernels_->split(blended, bytes_ / 2, channels_[0].row.data(), chroma_.data());
    kernels_->split(chroma_.data(), bytes_ / 4, channels_[1].row.data(), channels_[2].row.data());
  }
  const std::size_t alone = channels_.size() - (last_two_together_ ? 2 : 0);
  for (std::size_t c = 0; c < alone; ++c) {
    const Narrow& narrow = channels_[c];
    kernels_->narrow(narrow.row.data(), narrow.first.data(), narrow.weights.data(), narrow.window, narrow.first.size(),
                     outputs[c]);
  }
  if (!last_two_together_) return;
  const Narrow& narrow = channels_[alone];
  kernels_->narrow_both({narrow.row.data(), channels_[alone + 1].row.data()}, narrow.first.data(),
                        narrow.weights.data(), narrow.window, narrow.first.size(),
                        {outputs[alone], outputs[alone + 1]});
}

}  // namespace kinglet::camera
