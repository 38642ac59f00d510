// SPDX-License-Identifier: Apache-2.0
// Why: AVX-512 adds up four products of a pixel's byte and a signed byte at once, so that with weights as three digits
// of 256 no pixel is made wider.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "camera/preprocess/resample/pillow_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kinglet::camera {
namespace {

constexpr int kPartBits = 8;
constexpr std::size_t kParts = 3;
constexpr std::int32_t kMost = 127 << (2 * kPartBits);

// As a signed digit; what is left is a multiple of all that follow.
std::int8_t lowest_part(std::int32_t weight) { return static_cast<std::int8_t>(static_cast<std::uint8_t>(weight)); }

std::array<std::int8_t, kParts> parts_of(std::int32_t weight) {
  const std::int8_t lower = lowest_part(weight);
  const std::int32_t rest = (weight - lower) >> kPartBits;
  const std::int8_t middle = lowest_part(rest);
  return {static_cast<std::int8_t>((rest - middle) >> kPartBits), middle, lower};
}

}  // namespace

ThirdsWeights::ThirdsWeights(const AxisWeights& axis, std::size_t together) {
  const auto fits = [](std::int32_t weight) { return weight >= -kMost && weight <= kMost; };
  if (!std::ranges::all_of(axis.weights, fits)) return;
  const auto most = static_cast<std::size_t>(*std::ranges::max_element(axis.count));
  groups = (most + together - 1) / together;
  parts.resize(axis.size() * groups * kParts * together);
  for (std::size_t i = 0; i < axis.size(); ++i) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(axis.count[i]); ++k) {
      const auto weight = parts_of(axis.weights[i * static_cast<std::size_t>(axis.window) + k]);
      std::int8_t* const to = parts.data() + (i * groups + k / together) * kParts * together + k % together;
      for (std::size_t part = 0; part < kParts; ++part) to[part * together] = weight[part];
    }
  }
}

#if defined(__x86_64__)

#define KINGLET_THIRDS __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vnni")))

namespace {

constexpr std::size_t kColours = 3;
constexpr std::size_t kColumn = kColours * kColumnsTogether;  // bytes of pixels that are taken at a time
constexpr std::size_t kOutputs = 4;                           // at a time
constexpr std::size_t kBlock = 64;                            // bytes of rows

struct Colours {
  alignas(64) std::array<std::uint8_t, 64> places{};
};
// Red of the pixels in a register's first quarter, green in its second, blue in its third; in the fourth is nothing.
constexpr Colours make_colours() {
  Colours colours;
  for (std::size_t i = 0; i < colours.places.size(); ++i) {
    const std::size_t colour = i / kColumnsTogether;
    colours.places[i] =
        static_cast<std::uint8_t>(colour < kColours ? kColours * (i % kColumnsTogether) + colour : kColumn);
  }
  return colours;
}
constexpr Colours kByColour = make_colours();

KINGLET_THIRDS inline __m512i four_times(const std::int8_t* weights) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
}

// Four sums for each colour, which make one together. Each wraps around as unsigned numbers do; that one fits.
template <std::size_t kGroups>
KINGLET_THIRDS inline __m512i sums_of(const std::uint8_t* pixel, const std::int8_t* weights, std::size_t groups) {
  constexpr __mmask64 kOwn = (__mmask64{1} << kColumn) - 1;
  const __m512i places = _mm512_load_si512(kByColour.places.data());
  const __m512i zero = _mm512_setzero_si512();
  __m512i sums = zero;
  const std::size_t count = kGroups != 0 ? kGroups : groups;
  for (std::size_t i = 0; i < count; ++i, pixel += kColumn, weights += kParts * kColumnsTogether) {
    const __m512i pixels = _mm512_permutexvar_epi8(places, _mm512_maskz_loadu_epi8(kOwn, pixel));
    __m512i these = _mm512_dpbusd_epi32(zero, pixels, four_times(weights));
    these = _mm512_slli_epi32(these, kPartBits);
    these = _mm512_dpbusd_epi32(these, pixels, four_times(weights + kColumnsTogether));
    these = _mm512_slli_epi32(these, kPartBits);
    these = _mm512_dpbusd_epi32(these, pixels, four_times(weights + 2 * kColumnsTogether));
    sums = _mm512_add_epi32(sums, these);
  }
  return sums;
}

// The first two of each quarter of `one` and `other`, with their last two added.
KINGLET_THIRDS inline __m512i added(__m512i one, __m512i other) {
  return _mm512_add_epi32(_mm512_unpacklo_epi32(one, other), _mm512_unpackhi_epi32(one, other));
}

KINGLET_THIRDS inline void store_four(__m512i one, __m512i two, __m512i three, __m512i four, std::uint8_t* out) {
  const __m512i left = added(one, two);
  const __m512i right = added(three, four);
  __m512i sums = _mm512_add_epi32(_mm512_unpacklo_epi64(left, right), _mm512_unpackhi_epi64(left, right));
  sums = _mm512_srai_epi32(_mm512_add_epi32(sums, _mm512_set1_epi32(kPillowHalf)), kWeightBits);
  const __m128i by_colour = _mm512_cvtusepi32_epi8(_mm512_max_epi32(sums, _mm512_setzero_si512()));
  const __m128i pixels =
      _mm_shuffle_epi8(by_colour, _mm_setr_epi8(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, -1, -1, -1, -1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), pixels);
  const std::int32_t last = _mm_extract_epi32(pixels, 2);
  std::memcpy(out + 8, &last, sizeof last);
}

// Whole fours of outputs below `end`.
template <std::size_t kGroups>
KINGLET_THIRDS std::size_t narrow(const std::uint8_t* row, const std::int32_t* first, const ThirdsWeights& thirds,
                                  std::size_t end, std::uint8_t* out) {
  const std::size_t groups = thirds.groups;
  const std::size_t step = groups * kParts * kColumnsTogether;
  const std::int8_t* weights = thirds.parts.data();
  std::size_t x = 0;
  for (; x + kOutputs <= end;
       x += kOutputs, first += kOutputs, weights += kOutputs * step, out += kColours * kOutputs) {
    const __m512i one = sums_of<kGroups>(row + std::ptrdiff_t{3} * first[0], weights, groups);
    const __m512i two = sums_of<kGroups>(row + std::ptrdiff_t{3} * first[1], weights + step, groups);
    const __m512i three = sums_of<kGroups>(row + std::ptrdiff_t{3} * first[2], weights + 2 * step, groups);
    const __m512i four = sums_of<kGroups>(row + std::ptrdiff_t{3} * first[3], weights + 3 * step, groups);
    store_four(one, two, three, four, out);
  }
  return x;
}

// 64 columns, of which a quarter of each quarter is in one register.
struct Columns {
  __m512i first;
  __m512i second;
  __m512i third;
  __m512i fourth;
};

KINGLET_THIRDS inline Columns all_of(__m512i value) {
  return {.first = value, .second = value, .third = value, .fourth = value};
}

// Four rows side by side.
KINGLET_THIRDS inline Columns woven(__m512i one, __m512i two, __m512i three, __m512i four) {
  const __m512i upper_left = _mm512_unpacklo_epi8(one, two);
  const __m512i upper_right = _mm512_unpackhi_epi8(one, two);
  const __m512i lower_left = _mm512_unpacklo_epi8(three, four);
  const __m512i lower_right = _mm512_unpackhi_epi8(three, four);
  return {.first = _mm512_unpacklo_epi16(upper_left, lower_left),
          .second = _mm512_unpackhi_epi16(upper_left, lower_left),
          .third = _mm512_unpacklo_epi16(upper_right, lower_right),
          .fourth = _mm512_unpackhi_epi16(upper_right, lower_right)};
}

KINGLET_THIRDS inline Columns plus(const Columns& sums, const Columns& pixels, const std::int8_t* weights) {
  std::int32_t four = 0;
  std::memcpy(&four, weights, sizeof four);
  const __m512i by = _mm512_set1_epi32(four);
  return {.first = _mm512_dpbusd_epi32(sums.first, pixels.first, by),
          .second = _mm512_dpbusd_epi32(sums.second, pixels.second, by),
          .third = _mm512_dpbusd_epi32(sums.third, pixels.third, by),
          .fourth = _mm512_dpbusd_epi32(sums.fourth, pixels.fourth, by)};
}

// The sums of the three parts of a weight as one, within a byte's range or a little beyond.
KINGLET_THIRDS inline __m512i whole(__m512i upper, __m512i middle, __m512i lower) {
  const __m512i both = _mm512_add_epi32(_mm512_slli_epi32(upper, kPartBits), middle);
  return _mm512_srai_epi32(_mm512_add_epi32(_mm512_slli_epi32(both, kPartBits), lower), kWeightBits);
}

// Up to 64 columns, those in `own`, of `count` rows.
KINGLET_THIRDS inline void blend_block(const std::uint8_t* row, std::size_t row_bytes, __mmask64 own, std::size_t count,
                                       const std::int8_t* weights, std::uint8_t* out) {
  Columns upper = all_of(_mm512_setzero_si512());
  Columns middle = upper;
  Columns lower = all_of(_mm512_set1_epi32(kPillowHalf));
  for (std::size_t i = 0; i < count; i += kRowsTogether, row += kRowsTogether * row_bytes) {
    // Where there is no row any more the weight is zero.
    const std::size_t left = count - i;
    const Columns pixels =
        woven(_mm512_maskz_loadu_epi8(own, row), _mm512_maskz_loadu_epi8(own, row + (left > 1 ? row_bytes : 0)),
              _mm512_maskz_loadu_epi8(own, row + (left > 2 ? 2 * row_bytes : 0)),
              _mm512_maskz_loadu_epi8(own, row + (left > 3 ? 3 * row_bytes : 0)));
    upper = plus(upper, pixels, weights);
    middle = plus(middle, pixels, weights + kRowsTogether);
    lower = plus(lower, pixels, weights + 2 * kRowsTogether);
    weights += kParts * kRowsTogether;
  }
  const __m512i words = _mm512_packs_epi32(whole(upper.first, middle.first, lower.first),
                                           whole(upper.second, middle.second, lower.second));
  const __m512i more = _mm512_packs_epi32(whole(upper.third, middle.third, lower.third),
                                          whole(upper.fourth, middle.fourth, lower.fourth));
  _mm512_mask_storeu_epi8(out, own, _mm512_packus_epi16(words, more));
}

}  // namespace

bool can_take_thirds() {
  return __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512vbmi") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
}

std::int32_t bytes_for_thirds(std::size_t groups) { return static_cast<std::int32_t>(kColumn * groups); }

std::size_t narrow_thirds(const std::uint8_t* row, const AxisWeights& columns, const ThirdsWeights& thirds,
                          std::size_t end, std::uint8_t* out) {
  const std::int32_t* const first = columns.first.data();
  return thirds.groups == 1 ? narrow<1>(row, first, thirds, end, out) : narrow<0>(row, first, thirds, end, out);
}

KINGLET_THIRDS void blend_thirds(const std::uint8_t* top, std::size_t row_bytes, const AxisWeights& rows,
                                 const ThirdsWeights& thirds, std::size_t y, std::uint8_t* out) {
  const auto count = static_cast<std::size_t>(rows.count[y]);
  const std::int8_t* const weights = thirds.parts.data() + thirds.groups * kParts * kRowsTogether * y;
  for (std::size_t start = 0; start < row_bytes; start += kBlock) {
    const std::size_t length = row_bytes - start;
    const __mmask64 own = length >= kBlock ? ~__mmask64{0} : (__mmask64{1} << length) - 1;
    blend_block(top + start, row_bytes, own, count, weights, out + start);
  }
}

#else

bool can_take_thirds() { return false; }

std::int32_t bytes_for_thirds(std::size_t /*groups*/) { return 0; }

std::size_t narrow_thirds(const std::uint8_t* /*row*/, const AxisWeights& /*columns*/, const ThirdsWeights& /*thirds*/,
                          std::size_t /*end*/, std::uint8_t* /*out*/) {
  return 0;
}

void blend_thirds(const std::uint8_t* /*top*/, std::size_t /*row_bytes*/, const AxisWeights& /*rows*/,
                  const ThirdsWeights& /*thirds*/, std::size_t /*y*/, std::uint8_t* /*out*/) {}

#endif

}  // namespace kinglet::camera
