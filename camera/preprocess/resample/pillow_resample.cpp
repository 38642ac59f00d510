// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/pillow_resample.h"

#include <algorithm>
#include <cmath>

#include "camera/preprocess/resample/pillow_loops.h"
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

}  // namespace

AxisWeights make_weights(const AxisSpan& span, Interpolation interpolation, Antialias antialias, int box) {
  KINGLET_CHECK(span.input_size > 0 && span.output_size > 0 && span.length > 0 && span.skip >= 0 && span.keep > 0 &&
                span.skip + span.keep <= span.output_size);
  if (interpolation == Interpolation::kNearest) return make_nearest(span);
  const auto filter = interpolation == Interpolation::kBilinear ? triangle : cubic;
  const double step = span.length / span.output_size;
  // A triangle of this half width has a sixth of its square as variance; a box that inputs come from and that their
  // weights go to has twice a twelfth of box * box - 1.
  const double narrowed = box > 1 ? std::sqrt(step * step - (box * box - 1)) : step;
  const double filter_scale = antialias == Antialias::kOn ? std::max(narrowed, 1.0) : 1.0;
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
  quick_column_weights_ = QuickWeights(columns_);
  quick_row_weights_ = QuickWeights(rows_);
  if (can_take_thirds()) {
    column_thirds_ = ThirdsWeights(columns_, kColumnsTogether);
    row_thirds_ = ThirdsWeights(rows_, kRowsTogether);
  }
  std::int32_t end_column = 0;
  for (std::size_t x = 0; x < columns_.size(); ++x) {
    end_column = std::max(end_column, columns_.first[x] + columns_.count[x]);
  }
  const auto inside = [&](const auto& bytes_of) {
    std::size_t x = 0;
    while (x < columns_.size() && 3 * columns_.first[x] + bytes_of(x) <= 3 * end_column) ++x;
    return x;
  };
  quick_columns_ = inside([&](std::size_t x) { return bytes_for(columns_.count[x], quick_column_weights_.steps); });
  third_columns_ = inside([&](std::size_t) { return bytes_for_thirds(column_thirds_.groups); });
  four_columns_ = inside([&](std::size_t) { return bytes_for_fours(quick_column_weights_.steps); });
}

QuickWeights::QuickWeights(const AxisWeights& axis) {
  const std::size_t inputs = (static_cast<std::size_t>(*std::ranges::max_element(axis.count)) + 3) / 4 * 4;
  steps = kPillowTakesHalves ? inputs / 2 : inputs;
  const auto joined_pair = [](std::int32_t one, std::int32_t next) {
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(next) << 16) |
                                     (static_cast<std::uint32_t>(one) & 0xFFFFU));
  };
  constexpr std::int32_t kLowMask = (1 << kLowWeightBits) - 1;
  for (std::size_t i = 0; i < axis.size(); ++i) {
    const auto weight = [&](std::size_t k) {
      return k < static_cast<std::size_t>(axis.count[i]) ? axis.weights[i * static_cast<std::size_t>(axis.window) + k]
                                                         : 0;
    };
    if (!kPillowTakesHalves) {
      for (std::size_t k = 0; k < inputs; ++k) whole.push_back(weight(k));
      continue;
    }
    for (std::size_t k = 0; k < inputs; k += 2) {
      const std::int32_t one = weight(k);
      const std::int32_t next = weight(k + 1);
      upper.push_back(joined_pair(one >> kLowWeightBits, next >> kLowWeightBits));
      lower.push_back(joined_pair(one & kLowMask, next & kLowMask));
    }
  }
}

std::size_t PillowResize::scratch_size() const {
  return 3 * columns_.size() * static_cast<std::size_t>(end_row_ - first_row_);
}

void PillowResize::narrow_row(const std::uint8_t* row, Loops loops, std::uint8_t* to) const {
  std::size_t x = 0;
  if (loops == Loops::kQuickest && column_thirds_.groups > 0) {
    x = narrow_thirds(row, columns_, column_thirds_, third_columns_, to);
  } else if (loops <= Loops::kFours && can_narrow_fours()) {
    x = narrow_fours(row, columns_, quick_column_weights_, four_columns_, to);
  }
  if (loops != Loops::kScalar) x = narrow_quickly(row, columns_, quick_column_weights_, x, quick_columns_, to);
  narrow_scalar(row, columns_, x, to);
}

void PillowResize::blend_rows(const std::uint8_t* top, std::size_t y, Loops loops, std::uint8_t* to) const {
  const std::size_t row_bytes = 3 * columns_.size();
  if (loops == Loops::kQuickest && row_thirds_.groups > 0) {
    blend_thirds(top, row_bytes, rows_, row_thirds_, y, to);
    return;
  }
  std::size_t done = 0;
  if (loops != Loops::kScalar) done = blend_quickly(top, row_bytes, rows_, quick_row_weights_, y, to);
  blend_scalar(top, row_bytes, done, rows_, y, to);
}

// `narrowed`: the input rows that any output needs, already as wide as the output.
void PillowResize::run(const Plane& rgb, std::span<std::uint8_t> narrowed, std::span<std::byte> out,
                       Loops loops) const {
  const auto* input = reinterpret_cast<const std::uint8_t*>(rgb.bytes.data());
  auto* output = reinterpret_cast<std::uint8_t*>(out.data());
  const std::size_t row_bytes = 3 * columns_.size();
  KINGLET_CHECK(out.size() == row_bytes * rows_.size() && narrowed.size() >= scratch_size());
  for (int y = first_row_; y < end_row_; ++y) {
    narrow_row(input + static_cast<std::size_t>(y) * rgb.stride, loops,
               narrowed.data() + static_cast<std::size_t>(y - first_row_) * row_bytes);
  }
  for (std::size_t y = 0; y < rows_.size(); ++y) {
    const std::uint8_t* top = narrowed.data() + static_cast<std::size_t>(rows_.first[y] - first_row_) * row_bytes;
    blend_rows(top, y, loops, output + y * row_bytes);
  }
}

}  // namespace kinglet::camera
