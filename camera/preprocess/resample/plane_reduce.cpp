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

// From the first input that any output looks at to behind the last.
struct Needed {
  std::size_t begin = 0;
  std::size_t end = 0;
};
Needed needed(const AxisWeights& axis) {
  Needed inputs{.begin = static_cast<std::size_t>(*std::ranges::min_element(axis.first))};
  for (std::size_t i = 0; i < axis.size(); ++i)
    inputs.end = std::max(inputs.end, static_cast<std::size_t>(axis.first[i] + axis.count[i]));
  return inputs;
}

// Bytes of a row, in whole groups of those that belong together.
Needed needed_bytes(std::span<const PlaneResample::Channel> channels, Weave weave) {
  constexpr std::array<std::size_t, 4> kGroups{1, 2, 4, 1};
  const std::size_t group = kGroups.at(static_cast<std::size_t>(weave));
  Needed bytes{.begin = SIZE_MAX};
  for (const PlaneResample::Channel& channel : channels) {
    const Needed samples = needed(channel.columns);
    const auto step = static_cast<std::size_t>(channel.layout.step);
    bytes.begin = std::min(bytes.begin, samples.begin * step);
    bytes.end = std::max(bytes.end, samples.end * step);
  }
  return {bytes.begin / group * group, rounded_up(bytes.end, group)};
}

}  // namespace

std::optional<Weave> PlaneReduce::weave_of(std::span<const PlaneResample::Channel> channels) {
  const auto stands = [&](std::size_t i, int step, int offset) {
    return channels[i].layout.step == step && channels[i].layout.offset == offset;
  };
  if (channels.size() == 1 && stands(0, 1, 0)) return Weave::kPlain;
  if (channels.size() == 2 && stands(0, 1, 0) && stands(1, 1, 0)) return Weave::kApart;
  if (channels.size() == 2 && stands(0, 2, 0) && stands(1, 2, 1)) return Weave::kPairs;
  if (channels.size() == 3 && stands(0, 2, 0) && stands(1, 4, 1) && stands(2, 4, 3)) return Weave::kYuyv;
  return std::nullopt;
}

void PlaneReduce::add_channel(const AxisWeights& columns, std::size_t samples) {
  const auto taps = static_cast<std::size_t>(*std::ranges::max_element(columns.count));
  const std::size_t window = taps <= kByteLanes / 2 ? kByteLanes / 2 : rounded_up(taps, kByteLanes);
  channels_.push_back({{columns.first, to_small(columns, window), window, taps}, sample_count_});
  sample_count_ += samples;
  samples_.resize(std::max(samples_.size(), sample_count_ + room_for(window)));
}

void PlaneReduce::set_rows(const AxisWeights& rows) {
  first_row_ = rows.first;
  row_count_ = rows.count;
  row_window_ = rounded_up(static_cast<std::size_t>(rows.window), 2);
  row_weights_ = to_small(rows, row_window_);
}

// `part`: of the plane; when all channels are there, and rows are set.
void PlaneReduce::set_boxes(const BoxedRows::Part& part, Boxes boxes) {
  std::array<std::size_t, 3> at{};
  std::ranges::transform(channels_, at.begin(), &Narrow::at);
  boxes_.emplace(part, boxes, at, sample_count_, row_window_);
}

std::optional<PlaneReduce> PlaneReduce::make(std::span<const PlaneResample::Channel> channels, const AxisWeights& rows,
                                             Boxes boxes) {
  const std::optional<Weave> weave = weave_of(channels);
  const auto& columns_of = &PlaneResample::Channel::columns;
  if (!weave || !fits(rows) || !std::ranges::all_of(channels, fits, columns_of)) return std::nullopt;
  PlaneReduce made;
  made.kernels_ = &reduce_kernels().front();
  made.weave_ = *weave;
  const Needed bytes = needed_bytes(channels, *weave);
  const Needed lines = boxes.any() ? needed(rows) : Needed{};
  made.first_byte_ = bytes.begin;
  made.bytes_ = bytes.end - bytes.begin;
  const auto finest = static_cast<std::size_t>(channels[0].layout.step);
  for (const PlaneResample::Channel& channel : channels) {
    const auto step = static_cast<std::size_t>(channel.layout.step);
    const std::size_t side = std::max<std::size_t>(1, static_cast<std::size_t>(boxes.columns) * finest / step);
    const AxisWeights columns =
        in_boxes(channel.columns, static_cast<std::int32_t>(bytes.begin / step), static_cast<std::int32_t>(side));
    if (!fits(columns)) return std::nullopt;
    made.add_channel(columns, rounded_up(made.bytes_ / step, side) / side);
  }
  const AxisWeights blended = in_boxes(rows, static_cast<std::int32_t>(lines.begin), boxes.rows);
  if (!fits(blended)) return std::nullopt;
  made.set_rows(blended);
  const std::size_t count = made.channels_.size();
  made.last_two_together_ = count > 1 && made.channels_[count - 2].goes_with(made.channels_[count - 1]);
  if (boxes.any()) {
    made.set_boxes({*weave, bytes.begin, made.bytes_ / finest, lines.begin, lines.end - lines.begin}, boxes);
  } else {
    if (*weave == Weave::kPairs || *weave == Weave::kYuyv) made.blended_.resize(made.bytes_);
    if (*weave == Weave::kYuyv) made.chroma_.resize(made.bytes_ / 2);
  }
  return made;
}

void PlaneReduce::blend_row(std::span<const Plane> planes, std::size_t y) {
  const std::uint8_t* weights = row_weights_.data() + y * row_window_;
  const auto first = static_cast<std::size_t>(first_row_[y]);
  if (boxes_) {
    if (y == 0) boxes_->forget();
    const std::uint8_t* top = boxes_->rows(planes, first, static_cast<std::size_t>(row_count_[y]));
    kernels_->blend(top, sample_count_, sample_count_, weights, row_count_[y], samples_.data());
    return;
  }
  const auto samples_of = [&](std::size_t channel) { return samples_.data() + channels_[channel].at; };
  const auto blend = [&](const Plane& plane, std::uint8_t* to) {
    const auto* top = reinterpret_cast<const std::uint8_t*>(plane.bytes.data()) + first * plane.stride + first_byte_;
    kernels_->blend(top, plane.stride, bytes_, weights, row_count_[y], to);
  };
  std::uint8_t* blended = blended_.empty() ? samples_of(0) : blended_.data();
  blend(planes[0], blended);
  if (weave_ == Weave::kApart) blend(planes[1], samples_of(1));
  if (weave_ == Weave::kPairs) {
    kernels_->split(blended, bytes_ / 2, samples_of(0), samples_of(1));
  } else if (weave_ == Weave::kYuyv) {
    kernels_->split(blended, bytes_ / 2, samples_of(0), chroma_.data());
    kernels_->split(chroma_.data(), bytes_ / 4, samples_of(1), samples_of(2));
  }
}

void PlaneReduce::run_row(std::span<const Plane> planes, std::size_t y, std::span<std::uint8_t* const> outputs) {
  blend_row(planes, y);
  const std::size_t alone = channels_.size() - (last_two_together_ ? 2 : 0);
  for (std::size_t c = 0; c < alone; ++c) {
    kernels_->narrow(samples_.data() + channels_[c].at, channels_[c].windows, outputs[c]);
  }
  if (!last_two_together_) return;
  kernels_->narrow_both({samples_.data() + channels_[alone].at, samples_.data() + channels_[alone + 1].at},
                        channels_[alone].windows, {outputs[alone], outputs[alone + 1]});
}

}  // namespace kinglet::camera
