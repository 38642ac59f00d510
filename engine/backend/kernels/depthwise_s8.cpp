// SPDX-License-Identifier: Apache-2.0
// Why: XNNPACK takes 8-bit depthwise convolutions on x86-64 longer than the same in float, since it widens their bytes
// to 32 bits each. One filter a channel: the bytes of four taps are woven together, so that one product of four bytes
// is of one channel. ARM has a kernel of its own (columns_s8.cpp).
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "engine/backend/kernels/convolution_parts.h"
#include "engine/backend/kernels/rows.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kinglet::engine::kernels {
namespace {

constexpr std::size_t kBlock = 64;  // channels at once
constexpr std::size_t kGroup = 4;   // taps in one product
constexpr std::size_t kLaneBytes = 16;
constexpr std::size_t kMostTogether = 4;  // pixels in a block
constexpr std::size_t kMostTaps = 64;     // of a filter

// Where the sum of a block's channel `c` stands among its 64: bytes are woven within lanes of 16, so that vector v
// holds channels 4 v to 4 v + 3 of each lane. Packing the results to bytes undoes it.
constexpr std::size_t place_of(std::size_t c) {
  return c % kLaneBytes / kGroup * kLaneBytes + c / kLaneBytes * kGroup + c % kGroup;
}

// Pixels whose `bytes` channels beyond the whole blocks fit one block, each from a lane's beginning.
constexpr std::size_t pixels_together(std::size_t bytes) {
  return bytes <= kLaneBytes ? 4 : bytes <= 2 * kLaneBytes ? 2 : 1;
}

// Where its taps are read.
struct Pixel {
  const std::int8_t* const* taps = nullptr;
  std::size_t offset = 0;  // to add to each
};

struct Filter {
  std::size_t taps;
  const std::int8_t* weights;
  const std::int32_t* bias;
  const float* factors;
  std::size_t channels;
  Levels levels;
};

// Computes pixels' blocks of channels; both forms read the same packed numbers.
struct Form {
  void (*whole_blocks)(const Filter& filter, const Pixel& pixel, std::int8_t* out);
  // The channels after the whole blocks, of `count` pixels; those of all that share the block are read.
  void (*rest)(const Filter& filter, std::span<const Pixel> pixels, std::size_t count, std::int8_t* out);
};

// --- The scalar form -------------------------------------------------------------------------------------------------

// `count` channels from `first` on, whose numbers begin at `place` of the block.
void run_channels(const Filter& filter, const Pixel& from, std::size_t first, std::size_t count, std::size_t place,
                  std::int8_t* out) {
  const std::int8_t* weights = filter.weights + first * rounded_up(filter.taps, kGroup);
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t at = place_of(place + c);
    auto sum = static_cast<std::uint32_t>(filter.bias[first + at]);
    for (std::size_t tap = 0; tap < filter.taps; ++tap) {
      const std::int8_t weight = weights[(tap / kGroup * kBlock + at) * kGroup + tap % kGroup];
      sum += product(with_128_added(from.taps[tap][from.offset + first + c]), weight);
    }
    out[first + c] = to_level(sum, filter.factors[first + at], filter.levels);
  }
}

void whole_blocks_scalar(const Filter& filter, const Pixel& pixel, std::int8_t* out) {
  for (std::size_t first = 0; first + kBlock <= filter.channels; first += kBlock)
    run_channels(filter, pixel, first, kBlock, 0, out);
}

void rest_scalar(const Filter& filter, std::span<const Pixel> pixels, std::size_t count, std::int8_t* out) {
  const std::size_t first = filter.channels / kBlock * kBlock;
  const std::size_t channels = filter.channels - first;
  const std::size_t apart = kBlock / pixels_together(channels);
  for (std::size_t i = 0; i < count; ++i, out += filter.channels)
    run_channels(filter, pixels[i], first, channels, i * apart, out);
}

constexpr Form kScalar{.whole_blocks = whole_blocks_scalar, .rest = rest_scalar};

// --- The form for AVX-512 VNNI ---------------------------------------------------------------------------------------

#if defined(__x86_64__)

#define KINGLET_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

struct Sums {
  __m512i v0, v1, v2, v3;
};

KINGLET_VNNI inline __m512i load_vector(const void* from) { return _mm512_loadu_si512(from); }

KINGLET_VNNI inline void add_group(Sums& sums, __m512i a, __m512i b, __m512i c, __m512i d, const std::int8_t* weights) {
  const __m512i ab_low = _mm512_unpacklo_epi8(a, b);
  const __m512i ab_high = _mm512_unpackhi_epi8(a, b);
  const __m512i cd_low = _mm512_unpacklo_epi8(c, d);
  const __m512i cd_high = _mm512_unpackhi_epi8(c, d);
  sums.v0 = _mm512_dpbusd_epi32(sums.v0, _mm512_unpacklo_epi16(ab_low, cd_low), load_vector(weights));
  sums.v1 = _mm512_dpbusd_epi32(sums.v1, _mm512_unpackhi_epi16(ab_low, cd_low), load_vector(weights + 64));
  sums.v2 = _mm512_dpbusd_epi32(sums.v2, _mm512_unpacklo_epi16(ab_high, cd_high), load_vector(weights + 128));
  sums.v3 = _mm512_dpbusd_epi32(sums.v3, _mm512_unpackhi_epi16(ab_high, cd_high), load_vector(weights + 192));
}

// XNNPACK's rounding: the product in float, cut at the top, to the nearest even level.
KINGLET_VNNI inline __m512i to_levels(__m512i sums, const float* factors, __m512 most) {
  const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_loadu_ps(factors));
  return _mm512_cvtps_epi32(_mm512_min_ps(scaled, most));
}

// `kPixels` pixels side by side share a block: of each 64 / kPixels bytes, of which the first `bytes` are its own.
template <std::size_t kPixels>
struct Together {
  std::span<const Pixel> pixels;
  std::size_t first;  // channel
  std::size_t bytes;
  std::size_t count = kPixels;  // pixels that are written

  [[nodiscard]] KINGLET_VNNI __m512i load(std::size_t tap) const {
    const __m512i sign = _mm512_set1_epi8(-128);  // products want one side unsigned
    const auto from = [&](std::size_t i) { return pixels[i].taps[tap] + pixels[i].offset + first; };
    if constexpr (kPixels == 1) {
      return _mm512_xor_si512(_mm512_maskz_loadu_epi8(~__mmask64{0} >> (kBlock - bytes), from(0)), sign);
    } else if constexpr (kPixels == 2) {
      const __m256i one = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from(0)));
      const __m256i two = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from(1)));
      return _mm512_xor_si512(_mm512_inserti64x4(_mm512_castsi256_si512(one), two, 1), sign);
    } else {
      const auto lane = [&](std::size_t pixel)
                            KINGLET_VNNI { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from(pixel))); };
      __m512i all = _mm512_castsi128_si512(lane(0));
      all = _mm512_inserti32x4(all, lane(1), 1);
      all = _mm512_inserti32x4(all, lane(2), 2);
      return _mm512_xor_si512(_mm512_inserti32x4(all, lane(3), 3), sign);
    }
  }

  KINGLET_VNNI void store(__m512i levels, std::size_t channels, std::int8_t* out) const {
    if constexpr (kPixels == 1) {
      _mm512_mask_storeu_epi8(out + first, ~__mmask64{0} >> (kBlock - bytes), levels);
    } else {
      alignas(64) std::array<std::int8_t, kBlock> all;
      _mm512_store_si512(all.data(), levels);
      for (std::size_t pixel = 0; pixel < count; ++pixel, out += channels)
        std::memcpy(out + first, &all[pixel * (kBlock / kPixels)], bytes);
    }
  }
};

KINGLET_VNNI inline __m512i to_bytes(const Sums& sums, const Filter& filter, std::size_t first) {
  const float* factors = filter.factors + first;
  const __m512 most = _mm512_set1_ps(static_cast<float>(filter.levels.most - filter.levels.zero));
  const __m512i zero = _mm512_set1_epi16(static_cast<std::int16_t>(filter.levels.zero));
  const __m512i low = _mm512_packs_epi32(to_levels(sums.v0, factors, most), to_levels(sums.v1, factors + 16, most));
  const __m512i high =
      _mm512_packs_epi32(to_levels(sums.v2, factors + 32, most), to_levels(sums.v3, factors + 48, most));
  const __m512i levels = _mm512_packs_epi16(_mm512_adds_epi16(low, zero), _mm512_adds_epi16(high, zero));
  return _mm512_max_epi8(levels, _mm512_set1_epi8(filter.levels.least));
}

template <std::size_t kPixels>
KINGLET_VNNI inline void run_block(const Filter& filter, const Together<kPixels>& pixels, std::int8_t* out) {
  const std::int32_t* bias = filter.bias + pixels.first;
  Sums sums{load_vector(bias), load_vector(bias + 16), load_vector(bias + 32), load_vector(bias + 48)};
  const std::int8_t* weights = filter.weights + pixels.first * rounded_up(filter.taps, kGroup);
  std::size_t tap = 0;
  for (; tap + kGroup <= filter.taps; tap += kGroup, weights += kGroup * kBlock) {
    add_group(sums, pixels.load(tap), pixels.load(tap + 1), pixels.load(tap + 2), pixels.load(tap + 3), weights);
  }
  if (const std::size_t rest = filter.taps - tap; rest > 0) {  // the weights of what is repeated are zero
    const __m512i a = pixels.load(tap);
    add_group(sums, a, rest > 1 ? pixels.load(tap + 1) : a, rest > 2 ? pixels.load(tap + 2) : a, a, weights);
  }
  pixels.store(to_bytes(sums, filter, pixels.first), filter.channels, out);
}

KINGLET_VNNI void run_whole_blocks(const Filter& filter, const Pixel& pixel, std::int8_t* out) {
  for (std::size_t first = 0; first + kBlock <= filter.channels; first += kBlock)
    run_block<1>(filter, {.pixels = std::span(&pixel, 1), .first = first, .bytes = kBlock}, out);
}

KINGLET_VNNI void run_rest(const Filter& filter, std::span<const Pixel> pixels, std::size_t count, std::int8_t* out) {
  const std::size_t first = filter.channels / kBlock * kBlock;
  const std::size_t bytes = filter.channels - first;
  switch (pixels_together(bytes)) {
    case 4:
      return run_block<4>(filter, {.pixels = pixels, .first = first, .bytes = bytes, .count = count}, out);
    case 2:
      return run_block<2>(filter, {.pixels = pixels, .first = first, .bytes = bytes, .count = count}, out);
    default:
      return run_block<1>(filter, {.pixels = pixels, .first = first, .bytes = bytes, .count = count}, out);
  }
}

constexpr Form kAvx512Vnni{.whole_blocks = run_whole_blocks, .rest = run_rest};

#else

constexpr Form kAvx512Vnni = kScalar;  // never offered

#endif

// --- The kernel ------------------------------------------------------------------------------------------------------

class DepthwiseS8 final : public Kernel {
 public:
  DepthwiseS8(const ConvolutionS8& work, const Form& form);

  void run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const override;

 private:
  using Taps = std::array<const std::int8_t*, kMostTaps>;
  // Where a run reads and writes; `padding` is a row of the input's zero point.
  struct Memory {
    const std::int8_t* input;
    const std::int8_t* padding;
    std::int8_t* output;
  };
  void run_row(const Memory& memory, std::size_t row) const;  // of all images
  void pack(const ConvolutionNumbers& numbers);
  [[nodiscard]] std::size_t pixels_of(std::size_t block) const;  // that share it
  void find_taps(const Memory& image, std::size_t y, std::size_t x, Taps& taps) const;

  ConvolutionShape shape_;
  const Form* form_;
  InnerColumns inner_;
  std::size_t taps_ = 0;  // of a filter
  Levels levels_;
  std::int8_t padding_ = 0;           // the input's zero point
  std::vector<std::int8_t> weights_;  // of each block of channels: groups of four taps, as the kernel weaves them
  std::vector<std::int32_t> bias_;
  std::vector<float> factors_;
};

DepthwiseS8::DepthwiseS8(const ConvolutionS8& work, const Form& form)
    : shape_(work.shape),
      form_(&form),
      inner_(inner_columns(work.shape)),
      taps_(work.shape.taps()),
      levels_{.zero = work.numbers.output.zero_point, .least = work.numbers.least, .most = work.numbers.most},
      padding_(static_cast<std::int8_t>(work.numbers.input.zero_point)) {
  pack(work.numbers);
}

std::size_t DepthwiseS8::pixels_of(std::size_t block) const {
  return block + kBlock <= shape_.output_channels ? 1 : pixels_together(shape_.output_channels - block);
}

void DepthwiseS8::pack(const ConvolutionNumbers& numbers) {
  const std::size_t channels = rounded_up(shape_.output_channels, kBlock);
  const std::size_t taps = rounded_up(taps_, kGroup);
  weights_.resize(channels * taps);
  bias_.resize(channels);
  factors_.resize(channels);
  // Inputs are taken with 128 added: sum (x - zero) w = sum (x + 128) w - (zero + 128) sum w.
  const std::int32_t offset = numbers.input.zero_point + 128;
  for (std::size_t channel = 0; channel < shape_.output_channels; ++channel) {
    const std::size_t block = channel / kBlock * kBlock;
    const std::size_t pixels = pixels_of(block);
    std::int32_t sum = 0;
    for (std::size_t tap = 0; tap < taps_; ++tap) {
      const std::int8_t weight = numbers.weights[channel * taps_ + tap];
      sum += weight;
      for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
        const std::size_t place = place_of(pixel * (kBlock / pixels) + channel % kBlock);
        weights_[block * taps + (tap / kGroup * kBlock + place) * kGroup + tap % kGroup] = weight;
      }
    }
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      const std::size_t place = place_of(pixel * (kBlock / pixels) + channel % kBlock);
      bias_[block + place] = wrapping_difference(numbers.bias_of(channel), offset * sum);
      factors_[block + place] = numbers.factor_of(channel);
    }
  }
}

void DepthwiseS8::run(Inputs inputs, Outputs outputs, std::span<std::byte> scratch, pthreadpool_t pool) const {
  std::memset(scratch.data(), padding_, scratch.size());
  const Memory memory{.input = reinterpret_cast<const std::int8_t*>(inputs[0].data()),
                      .padding = reinterpret_cast<const std::int8_t*>(scratch.data()),
                      .output = reinterpret_cast<std::int8_t*>(outputs[0].data())};
  run_rows(shape_, pool, [&](std::size_t row) { run_row(memory, row); });
}

// Of output column `x`. Rows above and below the input are read from a row of padding.
void DepthwiseS8::find_taps(const Memory& image, std::size_t y, std::size_t x, Taps& taps) const {
  const xnn::Window& window = shape_.window;
  std::size_t tap = 0;
  for (std::size_t i = 0; i < window.kernel_height; ++i) {
    const std::size_t from_y =
        input_place(y, window.stride_height, i, window.dilation_height, window.pad_top, shape_.input_height);
    const std::int8_t* row =
        from_y == kOutside ? image.padding : image.input + from_y * shape_.input_width * shape_.input_channels;
    for (std::size_t j = 0; j < window.kernel_width; ++j, ++tap) {
      const std::size_t from_x =
          input_place(x, window.stride_width, j, window.dilation_width, window.pad_left, shape_.input_width);
      taps[tap] = from_x == kOutside ? image.padding : row + from_x * shape_.input_channels;
    }
  }
}

void DepthwiseS8::run_row(const Memory& memory, std::size_t row) const {
  const std::size_t y = row % shape_.output_height;
  Memory image = memory;
  image.input += row / shape_.output_height * shape_.input_height * shape_.input_width * shape_.input_channels;
  std::int8_t* output = memory.output + row * shape_.output_width * shape_.output_channels;
  const Filter filter{.taps = taps_,
                      .weights = weights_.data(),
                      .bias = bias_.data(),
                      .factors = factors_.data(),
                      .channels = shape_.output_channels,
                      .levels = levels_};
  const std::size_t rest = shape_.output_channels % kBlock;
  const std::size_t together = pixels_together(rest);
  Taps inner;
  if (inner_.begin < inner_.end) find_taps(image, y, inner_.begin, inner);
  std::array<Taps, kMostTogether> outer;
  std::array<Pixel, kMostTogether> pixels;
  for (std::size_t x = 0; x < shape_.output_width; ++x) {
    const std::size_t i = x % together;
    if (x >= inner_.begin && x < inner_.end) {
      const std::size_t step = shape_.window.stride_width * shape_.input_channels;
      pixels[i] = {.taps = inner.data(), .offset = (x - inner_.begin) * step};
    } else {
      find_taps(image, y, x, outer[i]);
      pixels[i] = {.taps = outer[i].data()};
    }
    if (x == 0) pixels.fill(pixels[0]);  // a row may have fewer
    form_->whole_blocks(filter, pixels[i], output + x * shape_.output_channels);
    if (rest > 0 && (i + 1 == together || x + 1 == shape_.output_width))
      form_->rest(filter, pixels, i + 1, output + (x - i) * shape_.output_channels);
  }
}

// --- The rows --------------------------------------------------------------------------------------------------------

std::optional<Offer> offer(const Work& work, double cost) {
  const auto* convolution = std::get_if<ConvolutionS8>(&work.kind);
  if (convolution == nullptr) return std::nullopt;
  const ConvolutionShape& shape = convolution->shape;
  const bool depthwise =
      shape.groups > 1 && shape.groups == shape.input_channels && shape.groups == shape.output_channels;
  if (!depthwise || shape.taps() > kMostTaps) return std::nullopt;
  const std::size_t channels = rounded_up(shape.output_channels, kBlock);
  return Offer{.cost = cost,
               .packed_bytes = channels * (rounded_up(shape.taps(), kGroup) + sizeof(std::int32_t) + sizeof(float)),
               .scratch_bytes = shape.input_width * shape.input_channels + kBlock};
}

}  // namespace

const KernelRow kDepthwiseS8Avx512Vnni{
    .name = "depthwise_s8__avx512vnni",
    .offer = [](const Work& work) { return has_byte_products() ? offer(work, 0.45) : std::nullopt; },
    .make = [](const Work& work, PackedWeights& /*weights*/) -> std::unique_ptr<Kernel> {
      return std::make_unique<DepthwiseS8>(std::get<ConvolutionS8>(work.kind), kAvx512Vnni);
    }};

const KernelRow kDepthwiseS8Scalar{.name = "depthwise_s8__scalar",
                                   .offer = [](const Work& work) { return offer(work, kScalarCost); },
                                   .make = [](const Work& work, PackedWeights& /*weights*/) -> std::unique_ptr<Kernel> {
                                     return std::make_unique<DepthwiseS8>(std::get<ConvolutionS8>(work.kind), kScalar);
                                   }};

}  // namespace kinglet::engine::kernels
