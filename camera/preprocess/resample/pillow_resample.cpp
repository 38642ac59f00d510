// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/pillow_resample.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

namespace kinglet::camera {
namespace {

using engine::Interpolation;

double triangle(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

// Keys' cubic with a = -0.5, in the order of operations that gives Pillow's last bit.
double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0.0;
}

// The nearest pixel by steps added up, as Pillow does: rounding errors accumulate and are part of the answer.
AxisWeights make_nearest(const AxisSpan& span) {
  AxisWeights axis;
  axis.window = 1;
  const double step = span.length / span.output_size;
  double position = span.begin + step * 0.5;
  for (int i = 0; i < span.skip + span.keep; ++i, position += step) {
    if (i < span.skip) continue;
    axis.first.push_back(std::clamp(static_cast<int>(position), 0, span.input_size - 1));
    axis.count.push_back(1);
    axis.weights.push_back(1 << kWeightBits);
  }
  return axis;
}

std::int32_t to_fixed(double weight) {
  const double scaled = weight * (1 << kWeightBits);
  return static_cast<std::int32_t>(weight < 0 ? scaled - 0.5 : scaled + 0.5);
}

std::uint8_t to_byte(std::int32_t sum) { return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255)); }

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

// One input row to output width.
void narrow_row(const std::uint8_t* row, const AxisWeights& columns, std::uint8_t* out) {
  const std::int32_t* weights = columns.weights.data();
  for (std::size_t x = 0; x < columns.size(); ++x, weights += columns.window, out += 3) {
    const std::uint8_t* pixel = row + std::ptrdiff_t{3} * columns.first[x];
    std::int32_t red = kHalf;
    std::int32_t green = kHalf;
    std::int32_t blue = kHalf;
    for (std::int32_t i = 0; i < columns.count[x]; ++i, pixel += 3) {
      red += pixel[0] * weights[i];
      green += pixel[1] * weights[i];
      blue += pixel[2] * weights[i];
    }
    out[0] = to_byte(red);
    out[1] = to_byte(green);
    out[2] = to_byte(blue);
  }
}

// `row_bytes` outputs, each the weighted sum down a column of bytes; blocks keep the sums in registers or cache.
void blend_rows(const std::uint8_t* top, std::size_t row_bytes, const std::int32_t* weights, std::int32_t count,
                std::uint8_t* out) {
  constexpr std::size_t kBlock = 64;
  for (std::size_t start = 0; start < row_bytes; start += kBlock) {
    const std::size_t length = std::min(kBlock, row_bytes - start);
    std::int32_t sums[kBlock];
    std::fill_n(sums, kBlock, kHalf);
    for (std::int32_t i = 0; i < count; ++i) {
      const std::uint8_t* row = top + static_cast<std::size_t>(i) * row_bytes + start;
      for (std::size_t x = 0; x < length; ++x) sums[x] += row[x] * weights[i];
    }
    for (std::size_t x = 0; x < length; ++x) out[start + x] = to_byte(sums[x]);
  }
}

}  // namespace

AxisWeights make_weights(const AxisSpan& span, Interpolation interpolation, Antialias antialias) {
  KINGLET_CHECK(span.input_size > 0 && span.output_size > 0 && span.length > 0 && span.skip >= 0 && span.keep > 0 &&
                span.skip + span.keep <= span.output_size);
  if (interpolation == Interpolation::kNearest) return make_nearest(span);
  const auto filter = interpolation == Interpolation::kBilinear ? triangle : cubic;
  const double step = span.length / span.output_size;
  const double filter_scale = antialias == Antialias::kOn ? std::max(step, 1.0) : 1.0;
  const double support = (interpolation == Interpolation::kBilinear ? 1.0 : 2.0) * filter_scale;
  AxisWeights axis;
  axis.window = static_cast<int>(std::ceil(support)) * 2 + 1;
  std::vector<double> exact(static_cast<std::size_t>(axis.window));
  for (int i = span.skip; i < span.skip + span.keep; ++i) {
    const double center = span.begin + (i + 0.5) * step;
    const double inverse = 1.0 / filter_scale;
    const int first = std::max(0, static_cast<int>(std::floor(center - support + 0.5)));
    const int count = std::min(span.input_size, static_cast<int>(std::floor(center + support + 0.5))) - first;
    double sum = 0;
    std::ranges::fill(exact, 0.0);
    for (int k = 0; k < count; ++k) {
      exact[static_cast<std::size_t>(k)] = filter((k + first - center + 0.5) * inverse);
      sum += exact[static_cast<std::size_t>(k)];
    }
    axis.first.push_back(first);
    axis.count.push_back(count);
    for (const double weight : exact) axis.weights.push_back(to_fixed(sum != 0.0 ? weight / sum : weight));
  }
  return axis;
}

PillowResize::PillowResize(AxisWeights columns, AxisWeights rows)
    : columns_(std::move(columns)), rows_(std::move(rows)) {
  first_row_ = *std::ranges::min_element(rows_.first);
  for (std::size_t y = 0; y < rows_.size(); ++y) end_row_ = std::max(end_row_, rows_.first[y] + rows_.count[y]);
}

std::size_t PillowResize::scratch_size() const {
  return 3 * columns_.size() * static_cast<std::size_t>(end_row_ - first_row_);
}

// `narrowed`: the input rows that any output needs, already as wide as the output.
void PillowResize::run(const Plane& rgb, std::span<std::uint8_t> narrowed, std::span<std::byte> out) const {
  const auto* input = reinterpret_cast<const std::uint8_t*>(rgb.bytes.data());
  auto* output = reinterpret_cast<std::uint8_t*>(out.data());
  const std::size_t row_bytes = 3 * columns_.size();
  KINGLET_CHECK(out.size() == row_bytes * rows_.size() && narrowed.size() >= scratch_size());
  for (int y = first_row_; y < end_row_; ++y) {
    narrow_row(input + static_cast<std::size_t>(y) * rgb.stride, columns_,
               narrowed.data() + static_cast<std::size_t>(y - first_row_) * row_bytes);
  }
  for (std::size_t y = 0; y < rows_.size(); ++y) {
    const std::uint8_t* top = narrowed.data() + static_cast<std::size_t>(rows_.first[y] - first_row_) * row_bytes;
    blend_rows(top, row_bytes, rows_.weights.data() + y * static_cast<std::size_t>(rows_.window), rows_.count[y],
               output + y * row_bytes);
  }
}

}  // namespace kinglet::camera
