// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/plane_resample.h"

#include <algorithm>

#include "camera/preprocess/resample/row_kernels.h"

namespace kinglet::camera {
namespace {

// Weights of 14 bits whose sum is exactly one, so that a flat picture stays flat.
std::vector<std::int16_t> to_fine(const AxisWeights& axis) {
  std::vector<std::int16_t> fine(axis.weights.size());
  const auto window = static_cast<std::size_t>(axis.window);
  for (std::size_t i = 0; i < axis.size(); ++i) {
    std::int32_t rest = 1 << kFineBits;
    std::size_t largest = i * window;
    for (std::size_t k = i * window; k < (i + 1) * window; ++k) {
      constexpr int kShift = kWeightBits - kFineBits;
      fine[k] = static_cast<std::int16_t>((axis.weights[k] + (1 << (kShift - 1))) >> kShift);
      rest -= fine[k];
      if (fine[k] > fine[largest]) largest = k;
    }
    fine[largest] = static_cast<std::int16_t>(fine[largest] + rest);
  }
  return fine;
}

// The weights of one output stand `step` apart, zeros between them, in windows of whole vectors.
std::vector<std::int16_t> spread(const std::vector<std::int16_t>& fine, std::size_t taps, std::size_t step,
                                 std::size_t window) {
  std::vector<std::int16_t> out(fine.size() / taps * window);
  for (std::size_t i = 0; i < fine.size(); ++i) out[i / taps * window + i % taps * step] = fine[i];
  return out;
}

}  // namespace

PlaneResample::PlaneResample(std::span<const Channel> channels, AxisWeights rows)
    : rows_(std::move(rows)), row_weights_(to_fine(rows_)) {
  std::size_t first_byte = SIZE_MAX;
  std::size_t end_byte = 0;
  std::size_t widest = 0;
  for (const Channel& channel : channels) {
    const AxisWeights& columns = channel.columns;
    const auto taps = static_cast<std::size_t>(columns.window);
    const auto step = static_cast<std::size_t>(channel.layout.step);
    Narrow narrow{.first = {}, .weights = {}, .window = ((taps - 1) * step + kLanes) / kLanes * kLanes};
    narrow.weights = spread(to_fine(columns), taps, step, narrow.window);
    for (std::size_t x = 0; x < columns.size(); ++x) {
      const std::int32_t begin = columns.first[x] * channel.layout.step + channel.layout.offset;
      const std::int32_t last = begin + (columns.count[x] - 1) * channel.layout.step;
      narrow.first.push_back(begin);
      first_byte = std::min(first_byte, static_cast<std::size_t>(begin));
      end_byte = std::max(end_byte, static_cast<std::size_t>(last) + 1);
    }
    widest = std::max(widest, narrow.window);
    channels_.push_back(std::move(narrow));
  }
  first_byte_ = first_byte;
  bytes_ = end_byte - first_byte;
  blended_.resize(bytes_ + widest);  // windows reach beyond the last byte, with zeros
  for (Narrow& narrow : channels_) {
    for (std::int32_t& first : narrow.first) first -= static_cast<std::int32_t>(first_byte_);
  }
}

void PlaneResample::run_row(std::span<const Plane> planes, std::size_t y, std::span<std::uint8_t* const> outputs) {
  const Plane& plane = planes.front();
  const auto* top = reinterpret_cast<const std::uint8_t*>(plane.bytes.data()) +
                    static_cast<std::size_t>(rows_.first[y]) * plane.stride + first_byte_;
  blend_rows(top, plane.stride, bytes_, row_weights_.data() + y * static_cast<std::size_t>(rows_.window),
             rows_.count[y], blended_.data());
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    const Narrow& narrow = channels_[c];
    narrow_row(blended_.data(), narrow.first.data(), narrow.weights.data(), narrow.window, narrow.first.size(),
               outputs[c]);
  }
}

}  // namespace kinglet::camera
