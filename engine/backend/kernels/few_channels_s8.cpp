// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK takes 8-bit convolutions of a picture's three channels on x86-64 longer than the same in float, since of
// its tiles most stays empty. A row of a window is a handful of bytes that stand side by side, so that four of them at
// a time, whatever pixel they are of, go into one product. ARM has a kernel of its own (products_s8.cpp).
#include <array>
#include <cstring>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/rows.h"
#include "engine/backend/kernels/vectors/unroll.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kinglet::engine::kernels {
namespace {

constexpr std::size_t kWord = 4;           // bytes in one product
constexpr std::size_t kPixels = 8;         // at once, so that weights are read an eighth as often
constexpr std::size_t kMostRowBytes = 32;  // of a window: its columns times the channels
constexpr std::size_t kMostRows = 7;
constexpr std::size_t kOutputs = 16;  // at once; there are whole multiples of it
// Of all outputs; with more XNNPACK's tiles fill (measured: 16 to 96 channels take 0.7 of its time, 24 to 144 as long),
// unless it has more than twice as many for zeros: it takes the channels of a tap in eights.
constexpr std::size_t kMostWeights = 2304;
constexpr std::size_t kXnnEight = 8;
constexpr std::size_t kPatchBytes = (kMostRows + 1) * kMostRowBytes;
using Patches = std::array<std::array<std::int8_t, kPatchBytes>, kPixels>;

struct Filters {
  std::size_t words;  // of a window
  const std::int8_t* weights;
  const std::int32_t* bias;
  const float* factors;
  std::size_t outputs;
  Levels levels;
};

// Both forms read the same packed numbers.
struct Form {
  // The bytes under a window, row by row, each row in whole words and with 128 added.
  void (*gather)(std::span<const std::int8_t* const> rows, std::size_t row_words, std::int8_t* bytes);
  // `count` pixels side by side, kPixels at most; the patches of all are read.
  void (*run_pixels)(const Filters& filters, const Patches& patches, std::size_t count, std::int8_t* out);
};

// The rows under a window.
struct Patch {
  std::array<const std::int8_t*, kMostRows> rows;
  std::array<std::size_t, kMostRows> step;  // of each to the next column inside: none above and below the input
  std::array<std::array<std::int8_t, kMostRowBytes>, kMostRows> borders;  // rows that are not in the input as a whole
};

// --- The scalar form -------------------------------------------------------------------------------------------------

void gather_scalar(std::span<const std::int8_t* const> rows, std::size_t row_words, std::int8_t* bytes) {
  for (const std::int8_t* row : rows) {
    for (std::size_t at = 0; at < row_words * kWord; ++at) *bytes++ = static_cast<std::int8_t>(with_128_added(row[at]));
  }
}

void run_pixels_scalar(const Filters& filters, const Patches& patches, std::size_t count, std::int8_t* out) {
  const std::size_t bytes = filters.words * kWord;
  for (std::size_t pixel = 0; pixel < count; ++pixel, out += filters.outputs) {
    for (std::size_t output = 0; output < filters.outputs; ++output) {
      const std::int8_t* weights = filters.weights + output / kOutputs * kOutputs * bytes + output % kOutputs * kWord;
      auto sum = static_cast<std::uint32_t>(filters.bias[output]);
      for (std::size_t at = 0; at < bytes; ++at) {
        sum +=
            product(static_cast<std::uint8_t>(patches[pixel][at]), weights[at / kWord * kWord * kOutputs + at % kWord]);
      }
      out[output] = to_level(sum, filters.factors[output], filters.levels);
    }
  }
}

constexpr Form kScalar{.gather = gather_scalar, .run_pixels = run_pixels_scalar};

// --- The form for AVX-512 VNNI ---------------------------------------------------------------------------------------

#if defined(__x86_64__)

#define KINGLET_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

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
  const __m512 least = _mm512_set1_ps(static_cast<float>(filters.levels.least - filters.levels.zero));
  const __m512 most = _mm512_set1_ps(static_cast<float>(filters.levels.most - filters.levels.zero));
  const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_loadu_ps(filters.factors + first));
  const __m512i levels = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(scaled, least), most));
  const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_add_epi32(levels, _mm512_set1_epi32(filters.levels.zero)));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + first), bytes);
}

// Of kVectors blocks of outputs: as many sums as the products' delay wants.
template <std::size_t kVectors>
KINGLET_VNNI inline void run_outputs(const Filters& filters, const Patches& patches, std::size_t first,
                                     std::size_t count, std::int8_t* out) {
  const std::size_t bytes = filters.words * kWord;
  const std::int8_t* weights = filters.weights + first * bytes;
  __m512i sums[kPixels][kVectors];
  KINGLET_UNROLL
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
    KINGLET_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sums[pixel][v] = _mm512_loadu_si512(filters.bias + first + v * kOutputs);
  }
  for (std::size_t at = 0; at < bytes; at += kWord, weights += kWord * kOutputs) {
    __m512i words[kVectors];
    KINGLET_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) words[v] = _mm512_loadu_si512(weights + v * kOutputs * bytes);
    KINGLET_UNROLL
    for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
      const __m512i numbers = four_bytes(&patches[pixel][at]);
      KINGLET_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v)
        sums[pixel][v] = _mm512_dpbusd_epi32(sums[pixel][v], numbers, words[v]);
    }
  }
  KINGLET_UNROLL
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
    if (pixel >= count) break;
    KINGLET_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v)
      store(sums[pixel][v], filters, first + v * kOutputs, out + pixel * filters.outputs);
  }
}

KINGLET_VNNI void run_pixels(const Filters& filters, const Patches& patches, std::size_t count, std::int8_t* out) {
  std::size_t first = 0;
  for (; first + 2 * kOutputs <= filters.outputs; first += 2 * kOutputs)
    run_outputs<2>(filters, patches, first, count, out);
  if (first < filters.outputs) run_outputs<1>(filters, patches, first, count, out);
}

constexpr Form kAvx512Vnni{.gather = gather, .run_pixels = run_pixels};

#else

constexpr Form kAvx512Vnni = kScalar;  // never offered

#endif

// --- The kernel ------------------------------------------------------------------------------------------------------

std::size_t row_bytes_of(const ConvolutionShape& shape) { return shape.window.kernel_width * shape.input_channels; }

std::size_t weight_bytes_of(const ConvolutionShape& shape) {
  return rounded_up(row_bytes_of(shape), kWord) * shape.window.kernel_height * shape.output_channels;
}

// XNNPACK's tiles fill.
bool has_many_weights(const ConvolutionShape& shape) { return weight_bytes_of(shape) > kMostWeights; }

// And are more than half full of zeros.
bool fills_with_zeros(const ConvolutionShape& shape) {
  const std::size_t filled = shape.taps() * rounded_up(shape.input_channels, kXnnEight) * shape.output_channels;
  return 2 * weight_bytes_of(shape) < filled;
}

class FewChannelsS8 final : public Kernel {
 public:
  FewChannelsS8(const ConvolutionS8& work, const Form& form);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override;
  void run_row(const std::int8_t* input, std::int8_t* output, std::size_t row) const;  // of all images

 private:
  void pack(const ConvolutionNumbers& numbers);
  void find_patch(const std::int8_t* input, std::size_t y, std::size_t x, Patch& patch) const;

  ConvolutionShape shape_;
  const Form* form_;
  InnerColumns inner_;
  std::size_t row_words_ = 0;  // of a window, of four bytes
  std::int8_t padding_ = 0;    // the input's zero point
  Levels levels_;
  std::vector<std::int8_t> weights_;  // of each 16 outputs: word by word of the window, four bytes an output
  std::vector<std::int32_t> bias_;
  std::vector<float> factors_;
};

FewChannelsS8::FewChannelsS8(const ConvolutionS8& work, const Form& form)
    : shape_(work.shape),
      form_(&form),
      inner_(inner_columns(work.shape)),
      row_words_(rounded_up(row_bytes_of(work.shape), kWord) / kWord),
      padding_(static_cast<std::int8_t>(work.numbers.input.zero_point)),
      levels_{.zero = work.numbers.output.zero_point, .least = work.numbers.least, .most = work.numbers.most} {
  pack(work.numbers);
}

void FewChannelsS8::pack(const ConvolutionNumbers& numbers) {
  const std::size_t rows = shape_.window.kernel_height;
  const std::size_t columns = shape_.window.kernel_width;
  const std::size_t words = rows * row_words_;
  weights_.resize(weight_bytes_of(shape_));
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

void FewChannelsS8::run(Inputs inputs, Outputs outputs, std::span<std::byte> /*scratch*/, pthreadpool_t pool) const {
  const auto* input = reinterpret_cast<const std::int8_t*>(inputs[0].data());
  auto* output = reinterpret_cast<std::int8_t*>(outputs[0].data());
  run_rows(shape_, pool, [&](std::size_t row) { run_row(input, output, row); });
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
                        .levels = levels_};
  Patch patch;
  Patches patches{};
  for (std::size_t x = 0; x < shape_.output_width; ++x) {
    if (x > inner_.begin && x < inner_.end) {
      for (std::size_t i = 0; i < rows; ++i) patch.rows[i] += patch.step[i];
    } else {
      find_patch(input, row % shape_.output_height, x, patch);
    }
    const std::size_t pixel = x % kPixels;
    form_->gather(std::span(patch.rows).first(rows), row_words_, patches[pixel].data());
    if (pixel + 1 < kPixels && x + 1 < shape_.output_width) continue;
    form_->run_pixels(filters, patches, pixel + 1, output);
    output += kPixels * shape_.output_channels;
  }
}

// --- The rows --------------------------------------------------------------------------------------------------------

// Nobody has measured many weights where XNNPACK has other tiles (AMX).
double cost_of(const ConvolutionShape& shape) { return has_many_weights(shape) && has_byte_tiles() ? 1 : 0.5; }

std::optional<Offer> offer(const Work& work, double (*cost)(const ConvolutionShape&)) {
  const auto* convolution = std::get_if<ConvolutionS8>(&work.kind);
  if (convolution == nullptr) return std::nullopt;
  const ConvolutionShape& shape = convolution->shape;
  const bool takes = shape.groups == 1 && row_bytes_of(shape) <= kMostRowBytes &&
                     shape.window.kernel_height <= kMostRows && shape.window.dilation_width == 1 &&
                     shape.output_channels % kOutputs == 0 && (!has_many_weights(shape) || fills_with_zeros(shape));
  if (!takes) return std::nullopt;
  return Offer{.cost = cost(shape),
               .packed_bytes = weight_bytes_of(shape) + shape.output_channels * (sizeof(std::int32_t) + sizeof(float))};
}

}  // namespace

const KernelRow kFewChannelsS8Avx512Vnni{
    .name = "few_channels_s8__avx512vnni",
    .offer = [](const Work& work) { return has_byte_products() ? offer(work, cost_of) : std::nullopt; },
    .make = [](const Work& work, PackedWeights& /*weights*/) -> std::unique_ptr<Kernel> {
      return std::make_unique<FewChannelsS8>(std::get<ConvolutionS8>(work.kind), kAvx512Vnni);
    }};

const KernelRow kFewChannelsS8Scalar{
    .name = "few_channels_s8__scalar",
    .offer = [](const Work& work) { return offer(work, [](const ConvolutionShape&) { return kScalarCost; }); },
    .make = [](const Work& work, PackedWeights& /*weights*/) -> std::unique_ptr<Kernel> {
      return std::make_unique<FewChannelsS8>(std::get<ConvolutionS8>(work.kind), kScalar);
    }};

}  // namespace kinglet::engine::kernels
