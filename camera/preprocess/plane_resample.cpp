// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/plane_resample.h"

#include <algorithm>

namespace kinglet::camera {
namespace {

constexpr int kFineBits = 14;    // of a weight
constexpr int kBlendedBits = 7;  // of a blended byte: 255 << 7 still fits 16 bits

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

void blend_columns(const std::uint8_t* top, std::size_t stride, std::size_t length, const std::int16_t* weights,
                   std::int32_t count, std::int16_t* out) {
  constexpr std::size_t kBlock = 64;
  constexpr int kShift = kFineBits - kBlendedBits;
  for (std::size_t start = 0; start < length; start += kBlock) {
    const std::size_t here = std::min(kBlock, length - start);
    std::int32_t sums[kBlock];
    std::fill_n(sums, kBlock, 1 << (kShift - 1));
    for (std::int32_t i = 0; i < count; ++i) {
      const std::uint8_t* row = top + static_cast<std::size_t>(i) * stride + start;
      const std::int32_t weight = weights[i];
      if (here == kBlock) {
        for (std::size_t x = 0; x < kBlock; ++x) sums[x] += row[x] * weight;
      } else {
        for (std::size_t x = 0; x < here; ++x) sums[x] += row[x] * weight;
      }
    }
    for (std::size_t x = 0; x < here; ++x) {
      out[start + x] = static_cast<std::int16_t>(std::clamp(sums[x] >> kShift, 0, 255 << kBlendedBits));
    }
  }
}

}  // namespace

PlaneResample::PlaneResample(std::span<const Channel> channels, AxisWeights rows)
    : rows_(std::move(rows)), row_weights_(to_fine(rows_)) {
  std::size_t first_byte = SIZE_MAX;
  std::size_t end_byte = 0;
  for (const Channel& channel : channels) {
    Narrow narrow{channel.layout, {}, channel.columns.count, to_fine(channel.columns), channel.columns.window};
    for (std::size_t x = 0; x < channel.columns.size(); ++x) {
      const std::int32_t begin = channel.columns.first[x] * channel.layout.step + channel.layout.offset;
      const std::int32_t last = begin + (channel.columns.count[x] - 1) * channel.layout.step;
      narrow.first.push_back(begin);
      first_byte = std::min(first_byte, static_cast<std::size_t>(begin));
      end_byte = std::max(end_byte, static_cast<std::size_t>(last) + 1);
    }
    channels_.push_back(std::move(narrow));
  }
  first_byte_ = first_byte;
  blended_.resize(end_byte - first_byte);
  for (Narrow& narrow : channels_) {
    for (std::int32_t& first : narrow.first) first -= static_cast<std::int32_t>(first_byte_);
  }
}

void PlaneResample::run_row(const Plane& plane, std::size_t y, std::span<std::uint8_t* const> outputs) {
  const auto* top = reinterpret_cast<const std::uint8_t*>(plane.bytes.data()) +
                    static_cast<std::size_t>(rows_.first[y]) * plane.stride + first_byte_;
  blend_columns(top, plane.stride, blended_.size(), row_weights_.data() + y * static_cast<std::size_t>(rows_.window),
                rows_.count[y], blended_.data());
  constexpr int kShift = kFineBits + kBlendedBits;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    const Narrow& narrow = channels_[c];
    const std::int16_t* weights = narrow.weights.data();
    const std::ptrdiff_t step = narrow.layout.step;
    for (std::size_t x = 0; x < narrow.first.size(); ++x, weights += narrow.window) {
      const std::int16_t* sample = blended_.data() + narrow.first[x];
      std::int32_t sum = 1 << (kShift - 1);
      for (std::int32_t i = 0; i < narrow.count[x]; ++i) sum += sample[i * step] * weights[i];
      outputs[c][x] = static_cast<std::uint8_t>(std::clamp(sum >> kShift, 0, 255));
    }
  }
}

}  // namespace kinglet::camera
