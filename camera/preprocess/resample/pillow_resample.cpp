// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/pillow_resample.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>
#endif

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

constexpr int kLowBits = kWeightBits / 2;

// One input row to output width, from output `x` on.
void narrow_row(const std::uint8_t* row, const AxisWeights& columns, std::size_t x, std::uint8_t* out) {
  const std::int32_t* weights = columns.weights.data() + x * static_cast<std::size_t>(columns.window);
  for (out += 3 * x; x < columns.size(); ++x, weights += columns.window, out += 3) {
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

// `row_bytes` outputs from `start` on, each the weighted sum down a column of bytes; blocks keep the sums in registers
// or cache.
void blend_rows(const std::uint8_t* top, std::size_t row_bytes, std::size_t start, const std::int32_t* weights,
                std::int32_t count, std::uint8_t* out) {
  constexpr std::size_t kBlock = 64;
  for (; start < row_bytes; start += kBlock) {
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

// How many bytes of a row are read for an output of `count` inputs, or with all its weights in so many steps.
constexpr std::int32_t bytes_of_pairs(std::int32_t count) { return 3 * (count + count % 2) + 1; }
constexpr std::int32_t bytes_of_fours(std::size_t steps) { return 6 * static_cast<std::int32_t>(steps) + 4; }

#if defined(__x86_64__)

constexpr bool kHasQuickLoops = true;

bool has_fours() { return __builtin_cpu_supports("avx2") != 0; }

// The sums of both halves, each wrapped around as unsigned numbers are; together they fit.
__m128i joined(__m128i high, __m128i low) {
  return _mm_srai_epi32(_mm_add_epi32(_mm_slli_epi32(high, kLowBits), low), kWeightBits);
}

// Outputs from `x` on, below `end`. Gives that.
std::size_t narrow_pairs(const std::uint8_t* row, const AxisWeights& columns, const WeightHalves& halves, std::size_t x,
                         std::size_t end, std::uint8_t* out) {
  const __m128i zero = _mm_setzero_si128();
  for (out += 3 * x; x < end; ++x, out += 3) {
    const std::uint8_t* pixel = row + std::ptrdiff_t{3} * columns.first[x];
    const std::int32_t* upper = halves.upper.data() + halves.steps * x;
    const std::int32_t* lower = halves.lower.data() + halves.steps * x;
    __m128i high = zero;
    __m128i low = _mm_set1_epi32(kHalf);
    for (std::int32_t i = 0; i < columns.count[x]; i += 2, pixel += 6, ++upper, ++lower) {
      std::int32_t one = 0;
      std::int32_t next = 0;
      std::memcpy(&one, pixel, sizeof one);
      std::memcpy(&next, pixel + 3, sizeof next);
      const __m128i colours = _mm_unpacklo_epi8(_mm_cvtsi32_si128(one), _mm_cvtsi32_si128(next));
      const __m128i words = _mm_unpacklo_epi8(colours, zero);
      high = _mm_add_epi32(high, _mm_madd_epi16(words, _mm_set1_epi32(*upper)));
      low = _mm_add_epi32(low, _mm_madd_epi16(words, _mm_set1_epi32(*lower)));
    }
    const __m128i narrow = _mm_packs_epi32(joined(high, low), zero);
    const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(narrow, zero));
    std::memcpy(out, &bytes, 3);
  }
  return x;
}

#define KINGLET_AVX2 __attribute__((target("avx2")))

KINGLET_AVX2 __m256i two_pairs(const std::int32_t* weights) {
  std::int64_t both = 0;
  std::memcpy(&both, weights, sizeof both);
  return _mm256_set1_epi64x(both);
}

// The same from the first output on: four inputs at once, of red and green in one half of a register, of blue in the
// other, so that both pairs of weights of a colour lie side by side.
KINGLET_AVX2 std::size_t narrow_fours(const std::uint8_t* row, const AxisWeights& columns, const WeightHalves& halves,
                                      std::size_t end, std::uint8_t* out) {
  const __m256i colours = _mm256_setr_epi8(0, -1, 3, -1, 6, -1, 9, -1, 1, -1, 4, -1, 7, -1, 10, -1,  // red, green
                                           2, -1, 5, -1, 8, -1, 11, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const __m256i rounding = _mm256_setr_epi32(kHalf, 0, kHalf, 0, kHalf, 0, 0, 0);
  for (std::size_t x = 0; x < end; ++x, out += 3) {
    const std::uint8_t* pixel = row + std::ptrdiff_t{3} * columns.first[x];
    const std::int32_t* upper = halves.upper.data() + halves.steps * x;
    const std::int32_t* lower = halves.lower.data() + halves.steps * x;
    __m256i high = _mm256_setzero_si256();
    __m256i low = rounding;
    // All of them, also where weights are zero: a loop that is as long for each output is foreseen.
    for (std::size_t i = 0; i < halves.steps; i += 2, pixel += 12, upper += 2, lower += 2) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixel));
      const __m256i words = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), colours);
      high = _mm256_add_epi32(high, _mm256_madd_epi16(words, two_pairs(upper)));
      low = _mm256_add_epi32(low, _mm256_madd_epi16(words, two_pairs(lower)));
    }
    const __m256i both = _mm256_add_epi32(_mm256_slli_epi32(high, kLowBits), low);
    const __m256i sums = _mm256_hadd_epi32(both, both);
    const __m128i rgb = _mm_unpacklo_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    const __m128i narrow = _mm_packs_epi32(_mm_srai_epi32(rgb, kWeightBits), _mm_setzero_si128());
    const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(narrow, narrow));
    std::memcpy(out, &bytes, 3);
  }
  return end;
}

// Gives how many bytes of the row are done.
std::size_t blend_quickly(const std::uint8_t* top, std::size_t row_bytes, const WeightHalves& halves, std::size_t y,
                          std::int32_t count, std::uint8_t* out) {
  constexpr std::size_t kBlock = 16;
  const __m128i zero = _mm_setzero_si128();
  const auto load = [](const std::uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
  std::size_t start = 0;
  for (; start + kBlock <= row_bytes; start += kBlock) {
    __m128i high[4] = {zero, zero, zero, zero};
    __m128i low[4];
    for (__m128i& sum : low) sum = _mm_set1_epi32(kHalf);
    const std::uint8_t* row = top + start;
    const std::int32_t* upper = halves.upper.data() + halves.steps * y;
    const std::int32_t* lower = halves.lower.data() + halves.steps * y;
    for (std::int32_t i = 0; i < count; i += 2, row += 2 * row_bytes, ++upper, ++lower) {
      const __m128i one = load(row);
      const __m128i next = i + 1 < count ? load(row + row_bytes) : zero;
      const __m128i first = _mm_unpacklo_epi8(one, next);
      const __m128i second = _mm_unpackhi_epi8(one, next);
      const __m128i words[4] = {_mm_unpacklo_epi8(first, zero), _mm_unpackhi_epi8(first, zero),
                                _mm_unpacklo_epi8(second, zero), _mm_unpackhi_epi8(second, zero)};
      for (std::size_t k = 0; k < 4; ++k) {
        high[k] = _mm_add_epi32(high[k], _mm_madd_epi16(words[k], _mm_set1_epi32(*upper)));
        low[k] = _mm_add_epi32(low[k], _mm_madd_epi16(words[k], _mm_set1_epi32(*lower)));
      }
    }
    const __m128i left = _mm_packs_epi32(joined(high[0], low[0]), joined(high[1], low[1]));
    const __m128i right = _mm_packs_epi32(joined(high[2], low[2]), joined(high[3], low[3]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + start), _mm_packus_epi16(left, right));
  }
  return start;
}

#else

constexpr bool kHasQuickLoops = false;

bool has_fours() { return false; }
std::size_t narrow_fours(const std::uint8_t* /*row*/, const AxisWeights& /*columns*/, const WeightHalves& /*halves*/,
                         std::size_t /*end*/, std::uint8_t* /*out*/) {
  return 0;
}
std::size_t narrow_pairs(const std::uint8_t* /*row*/, const AxisWeights& /*columns*/, const WeightHalves& /*halves*/,
                         std::size_t x, std::size_t /*end*/, std::uint8_t* /*out*/) {
  return x;
}
std::size_t blend_quickly(const std::uint8_t* /*top*/, std::size_t /*row_bytes*/, const WeightHalves& /*halves*/,
                          std::size_t /*y*/, std::int32_t /*count*/, std::uint8_t* /*out*/) {
  return 0;
}

#endif

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
  if (!kHasQuickLoops) return;
  column_halves_ = WeightHalves(columns_);
  row_halves_ = WeightHalves(rows_);
  std::int32_t end_column = 0;
  for (std::size_t x = 0; x < columns_.size(); ++x) {
    end_column = std::max(end_column, columns_.first[x] + columns_.count[x]);
  }
  const auto inside = [&](const auto& bytes_of) {
    std::size_t x = 0;
    while (x < columns_.size() && 3 * columns_.first[x] + bytes_of(x) <= 3 * end_column) ++x;
    return x;
  };
  pair_columns_ = inside([&](std::size_t x) { return bytes_of_pairs(columns_.count[x]); });
  four_columns_ = inside([&](std::size_t) { return bytes_of_fours(column_halves_.steps); });
}

WeightHalves::WeightHalves(const AxisWeights& axis)
    : steps((static_cast<std::size_t>(*std::ranges::max_element(axis.count)) + 3) / 4 * 2) {
  const auto joined_pair = [](std::int32_t one, std::int32_t next) {
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(next) << 16) |
                                     (static_cast<std::uint32_t>(one) & 0xFFFFU));
  };
  constexpr std::int32_t kLowMask = (1 << kLowBits) - 1;
  for (std::size_t i = 0; i < axis.size(); ++i) {
    const auto weight = [&](std::size_t k) {
      return k < static_cast<std::size_t>(axis.count[i]) ? axis.weights[i * static_cast<std::size_t>(axis.window) + k]
                                                         : 0;
    };
    for (std::size_t k = 0; k < 2 * steps; k += 2) {
      const std::int32_t one = weight(k);
      const std::int32_t next = weight(k + 1);
      upper.push_back(joined_pair(one >> kLowBits, next >> kLowBits));
      lower.push_back(joined_pair(one & kLowMask, next & kLowMask));
    }
  }
}

std::size_t PillowResize::scratch_size() const {
  return 3 * columns_.size() * static_cast<std::size_t>(end_row_ - first_row_);
}

// `narrowed`: the input rows that any output needs, already as wide as the output.
void PillowResize::run(const Plane& rgb, std::span<std::uint8_t> narrowed, std::span<std::byte> out,
                       Loops loops) const {
  const auto* input = reinterpret_cast<const std::uint8_t*>(rgb.bytes.data());
  auto* output = reinterpret_cast<std::uint8_t*>(out.data());
  const std::size_t row_bytes = 3 * columns_.size();
  KINGLET_CHECK(out.size() == row_bytes * rows_.size() && narrowed.size() >= scratch_size());
  const bool fours = loops == Loops::kQuickest && has_fours();
  for (int y = first_row_; y < end_row_; ++y) {
    const std::uint8_t* row = input + static_cast<std::size_t>(y) * rgb.stride;
    std::uint8_t* to = narrowed.data() + static_cast<std::size_t>(y - first_row_) * row_bytes;
    std::size_t x = 0;
    if (fours) x = narrow_fours(row, columns_, column_halves_, four_columns_, to);
    if (loops != Loops::kScalar) x = narrow_pairs(row, columns_, column_halves_, x, pair_columns_, to);
    narrow_row(row, columns_, x, to);
  }
  for (std::size_t y = 0; y < rows_.size(); ++y) {
    const std::uint8_t* top = narrowed.data() + static_cast<std::size_t>(rows_.first[y] - first_row_) * row_bytes;
    std::uint8_t* to = output + y * row_bytes;
    std::size_t done = 0;
    if (loops != Loops::kScalar && kHasQuickLoops) {
      done = blend_quickly(top, row_bytes, row_halves_, y, rows_.count[y], to);
    }
    blend_rows(top, row_bytes, done, rows_.weights.data() + y * static_cast<std::size_t>(rows_.window), rows_.count[y],
               to);
  }
}

}  // namespace kinglet::camera
