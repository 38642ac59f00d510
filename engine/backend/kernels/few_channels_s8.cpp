// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/kernels/few_channels_s8.h"

#include <array>
#include <cstring>

#include "engine/base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kinglet::engine::kernels {
namespace {

constexpr std::size_t kWord = 4;    // bytes in one product
constexpr std::size_t kPixels = 4;  // at once, so that weights are read a quarter as often
constexpr std::size_t kPatchBytes = (FewChannelsS8::kMostRows + 1) * FewChannelsS8::kMostRowBytes;
using Patches = std::array<std::array<std::int8_t, kPatchBytes>, kPixels>;

struct Filters {
  std::size_t words;  // of a window
  const std::int8_t* weights;
  const std::int32_t* bias;
  const float* factors;
  std::size_t outputs;
  std::int32_t zero;
  std::int8_t least, most;
};

}  // namespace

// The rows under a window.
struct FewChannelsS8::Patch {
  std::array<const std::int8_t*, kMostRows> rows;
  std::array<std::size_t, kMostRows> step;  // of each to the next column inside: none above and below the input
  std::array<std::array<std::int8_t, kMostRowBytes>, kMostRows> borders;  // rows that are not in the input as a whole
};

#if defined(__x86_64__)

namespace {

#define KINGLET_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

// The bytes under a window, row by row, each row in whole words and with 128 added.
KINGLET_VNNI void gather(std::span<const std::int8_t* const> rows, std::size_t row_words, std::int8_t* bytes) {
  const __m128i sign = _mm_set1_epi8(-128);  // products want one side unsigned
  for (const std::int8_t* row : rows) {      // what a row has too much the next one writes over
    for (std::size_t at = 0; at < row_words * kWord; at += sizeof sign) {
      const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + at));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + at), _mm_xor_si128(sixteen, sign));
    }
    bytes += row_words * kWord;
  }
}

KINGLET_VNNI inline __m512i four_bytes(const std::int8_t* from) {
  std::int32_t four = 0;
  std::memcpy(&four, from, sizeof four);
  return _mm512_set1_epi32(four);
}

// XNNPACK's rounding: the product in float, to the nearest even level; cutting before comes to the same.
KINGLET_VNNI inline void store(__m512i sums, const Filters& filters, std::size_t first, std::int8_t* out) {
  const __m512 least = _mm512_set1_ps(static_cast<float>(filters.least - filters.zero));
  const __m512 most = _mm512_set1_ps(static_cast<float>(filters.most - filters.zero));
  const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_loadu_ps(filters.factors + first));
  const __m512i levels = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(scaled, least), most));
  const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_add_epi32(levels, _mm512_set1_epi32(filters.zero)));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + first), bytes);
}

// `count` pixels side by side, kPixels at most; the patches of all are read.
KINGLET_VNNI void run_pixels(const Filters& filters, const Patches& patches, std::size_t count, std::int8_t* out) {
  constexpr std::size_t kOutputs = FewChannelsS8::kOutputs;
  const std::int8_t* weights = filters.weights;
  for (std::size_t first = 0; first < filters.outputs; first += kOutputs) {
    const __m512i bias = _mm512_loadu_si512(filters.bias + first);
    __m512i sums_0 = bias;
    __m512i sums_1 = bias;
    __m512i sums_2 = bias;
    __m512i sums_3 = bias;
    for (std::size_t at = 0; at < filters.words * kWord; at += kWord, weights += kWord * kOutputs) {
      const __m512i words = _mm512_loadu_si512(weights);
      sums_0 = _mm512_dpbusd_epi32(sums_0, four_bytes(&patches[0][at]), words);
      sums_1 = _mm512_dpbusd_epi32(sums_1, four_bytes(&patches[1][at]), words);
      sums_2 = _mm512_dpbusd_epi32(sums_2, four_bytes(&patches[2][at]), words);
      sums_3 = _mm512_dpbusd_epi32(sums_3, four_bytes(&patches[3][at]), words);
    }
    store(sums_0, filters, first, out);
    if (count > 1) store(sums_1, filters, first, out + filters.outputs);
    if (count > 2) store(sums_2, filters, first, out + 2 * filters.outputs);
    if (count > 3) store(sums_3, filters, first, out + 3 * filters.outputs);
  }
}

}  // namespace

#else

namespace {
void gather(std::span<const std::int8_t* const> /*rows*/, std::size_t /*row_words*/, std::int8_t* /*bytes*/) {}
void run_pixels(const Filters& /*filters*/, const Patches& /*patches*/, std::size_t /*count*/, std::int8_t* /*out*/) {}
}  // namespace

#endif

bool FewChannelsS8::takes(const ConvolutionShape& shape) {
  const xnn::Window& window = shape.window;
  const std::size_t row_bytes = window.kernel_width * shape.input_channels;
  return row_bytes <= kMostRowBytes && window.kernel_height <= kMostRows && window.dilation_width == 1 &&
         shape.output_channels % kOutputs == 0 &&
         rounded_up(row_bytes, kWord) * window.kernel_height * shape.output_channels <= kMostWeights;
}

FewChannelsS8::FewChannelsS8(const ConvolutionShape& shape, const ConvolutionNumbers& numbers)
    : shape_(shape),
      inner_(inner_columns(shape)),
      row_bytes_(shape.window.kernel_width * shape.input_channels),
      row_words_(rounded_up(row_bytes_, kWord) / kWord),
      padding_(static_cast<std::int8_t>(numbers.input.zero_point)),
      zero_(numbers.output.zero_point),
      least_(numbers.least),
      most_(numbers.most) {
  KINGLET_CHECK(has_byte_products() && takes(shape));
  pack(numbers);
}

void FewChannelsS8::pack(const ConvolutionNumbers& numbers) {
  const std::size_t rows = shape_.window.kernel_height;
  const std::size_t columns = shape_.window.kernel_width;
  const std::size_t words = rows * row_words_;
  weights_.resize(shape_.output_channels * words * kWord);
  // Inputs are taken with 128 added: sum (x - zero) w = sum (x + 128) w - (zero + 128) sum w.
  const std::int32_t offset = numbers.input.zero_point + 128;
  for (std::size_t output = 0; output < shape_.output_channels; ++output) {
    std::int8_t* of_outputs = weights_.data() + output / kOutputs * kOutputs * words * kWord;
    std::int32_t sum = 0;
    for (std::size_t channel = 0; channel < shape_.input_channels; ++channel) {
      for (std::size_t tap = 0; tap < rows * columns; ++tap) {
        const std::int8_t weight = numbers.weights[(output * shape_.input_channels + channel) * rows * columns + tap];
        const std::size_t byte = tap / columns * row_words_ * kWord + tap % columns * shape_.input_channels + channel;
        of_outputs[(byte / kWord * kOutputs + output % kOutputs) * kWord + byte % kWord] = weight;
        sum += weight;
      }
    }
    bias_.push_back(wrapping_difference(numbers.bias_of(output), offset * sum));
    factors_.push_back(numbers.factor_of(output));
  }
}

void FewChannelsS8::run(const std::int8_t* input, std::int8_t* output, pthreadpool_t pool) const {
  run_rows(*this, shape_, input, output, pool);
}

void FewChannelsS8::find_patch(const std::int8_t* input, std::size_t y, std::size_t x, Patch& patch) const {
  const xnn::Window& window = shape_.window;
  const std::size_t channels = shape_.input_channels;
  for (std::size_t i = 0; i < window.kernel_height; ++i) {
    const std::size_t from_y =
        input_place(y, window.stride_height, i, window.dilation_height, window.pad_top, shape_.input_height);
    const bool inside = from_y != kOutside;
    const std::int8_t* row = inside ? input + from_y * shape_.input_width * channels : nullptr;
    patch.step[i] = inside ? window.stride_width * channels : 0;
    if (inside && x >= inner_.begin && x < inner_.end) {
      patch.rows[i] = row + (x * window.stride_width - window.pad_left) * channels;
      continue;
    }
    patch.rows[i] = patch.borders[i].data();
    patch.borders[i].fill(padding_);
    for (std::size_t j = 0; inside && j < window.kernel_width; ++j) {
      const std::size_t from_x = input_place(x, window.stride_width, j, 1, window.pad_left, shape_.input_width);
      if (from_x != kOutside) std::memcpy(&patch.borders[i][j * channels], row + from_x * channels, channels);
    }
  }
}

void FewChannelsS8::run_row(const std::int8_t* input, std::int8_t* output, std::size_t row) const {
  input += row / shape_.output_height * shape_.input_height * shape_.input_width * shape_.input_channels;
  output += row * shape_.output_width * shape_.output_channels;
  const std::size_t rows = shape_.window.kernel_height;
  const Filters filters{.words = rows * row_words_,
                        .weights = weights_.data(),
                        .bias = bias_.data(),
                        .factors = factors_.data(),
                        .outputs = shape_.output_channels,
                        .zero = zero_,
                        .least = least_,
                        .most = most_};
  Patch patch;
  Patches patches{};
  for (std::size_t x = 0; x < shape_.output_width; ++x) {
    if (x > inner_.begin && x < inner_.end) {
      for (std::size_t i = 0; i < rows; ++i) patch.rows[i] += patch.step[i];
    } else {
      find_patch(input, row % shape_.output_height, x, patch);
    }
    const std::size_t pixel = x % kPixels;
    gather(std::span(patch.rows).first(rows), row_words_, patches[pixel].data());
    if (pixel + 1 < kPixels && x + 1 < shape_.output_width) continue;
    run_pixels(filters, patches, pixel + 1, output);
    output += kPixels * shape_.output_channels;
  }
}

}  // namespace kinglet::engine::kernels
