// SPDX-License-Identifier: Apache-2.0
// Why: what the kernels of convolutions share: parts for the threads; of 8-bit ones, which processor has their
// products, where a tap reads and how a sum becomes a level.
#pragma once

#include <pthreadpool.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/backend/kernels/work.h"
#include "engine/graph/float16.h"

namespace kinglet::engine::kernels {

// What the offers of both twins say. Of a fast form: the whole of a MobileNetV2's layers of that kind, measured
// (docs/benchmarks.md). Of a scalar one: never chosen over XNNPACK, whatever it really takes.
inline constexpr double kScalarCost = 1000;

// Of a kernel that reads what an addition adds number by number where it writes: the work's second input.
inline constexpr std::optional<std::size_t> kOverAdded = 1;

// This processor has AVX2 and FMA.
[[nodiscard]] bool has_avx2();
// And AVX-512 in registers of any length, as all but a Xeon Phi have it.
[[nodiscard]] bool has_avx512();
// Its registers of 64 bytes are computed 32 at a time (Zen 4): half of one takes half as long.
[[nodiscard]] bool halves_take_half();
// Weights that are asked for early come from memory in the time of two of XNNPACK's products a byte (measured on a Zen
// 4; without that on a Xeon in that of eight).
[[nodiscard]] bool has_near_memory();
// And products of four bytes (AVX-512 VNNI).
[[nodiscard]] bool has_byte_products();
// XNNPACK has 8-bit products that those of AVX2 do not come up to: with AVX-512, or of four bytes in registers of 32
// (AVX-VNNI), for which kinglet has no form.
[[nodiscard]] bool xnnpack_has_byte_products();
// And of whole tiles of bytes (AMX), which XNNPACK uses.
[[nodiscard]] bool has_byte_tiles();

// What a product of floats with AVX2 takes whose sums stay in registers, in times of XNNPACK's: GCC, as Debian builds
// that, has one register too few for its five rows of sixteen outputs and takes a sum to memory and back each time
// (docs/benchmarks.md).
inline constexpr double kAvx2Product = 0.48;
// The same of a step of so many: one of its own cuts a segment, in the time of so many of XNNPACK's.
[[nodiscard]] constexpr double avx2_step(double products) { return kAvx2Product * (1 + 60'000 / products); }

// Of a Raspberry Pi's caches (a Cortex-A76 has 512 KiB for itself, four A72 share 1 MiB): more of a layer's weights are
// gone before the next pixels ask for them again, so that all pixels take some of them, then the next ones
// (docs/decisions/0059-weights-from-memory-once.md).
inline constexpr std::size_t kFarWeights = std::size_t{384} << 10U;
inline constexpr std::size_t kNearWeights = std::size_t{128} << 10U;
// Of what the pixels are brought together to, that lies beside those.
inline constexpr std::size_t kNearPanels = std::size_t{448} << 10U;

// Calls run_part(part) for each of `count` parts, on the pool's threads. What is too small for a float's full precision
// is zero meanwhile, as XNNPACK wants it of the pool for its own: the same bits, and on most processors much sooner.
template <typename RunPart>
void run_parts(std::size_t count, pthreadpool_t pool, const RunPart& run_part) {
  struct Context {
    const RunPart& run_part;
  } context{run_part};
  pthreadpool_parallelize_1d(
      pool, [](void* of, std::size_t part) { static_cast<const Context*>(of)->run_part(part); }, &context, count,
      PTHREADPOOL_FLAG_DISABLE_DENORMALS);
}

// The same for each row of each image.
template <typename RunRow>
void run_rows(const ConvolutionShape& shape, pthreadpool_t pool, const RunRow& run_row) {
  run_parts(shape.batch * shape.output_height, pool, run_row);
}

// Calls run(group, block) for each of so many groups of pixels and blocks of outputs. On x86-64 each thread goes
// through groups of its own, block by block: it finds in its core's cache what it made of them before, and no other
// writes into the same pixels. On boards, whose cores share most of their caches, all go through a block's groups, so
// that weights come from memory once.
template <typename Run>
void run_groups(std::size_t groups, std::size_t blocks, pthreadpool_t pool, const Run& run) {
#if defined(__x86_64__)
  const std::size_t shares = std::min(groups, pthreadpool_get_threads_count(pool));
  run_parts(groups * blocks, pool, [&](std::size_t part) {
    const std::size_t share = ((part / blocks + 1) * shares - 1) / groups;
    const std::size_t first = share * groups / shares;
    const std::size_t count = (share + 1) * groups / shares - first;
    const std::size_t place = part - first * blocks;
    run(first + place % count, place / count);
  });
#else
  run_parts(groups * blocks, pool, [&](std::size_t part) { run(part % groups, part / groups); });
#endif
}

// The row or column of the input under a tap of an output's window; kOutside: in the padding.
inline constexpr std::size_t kOutside = static_cast<std::size_t>(-1);
[[nodiscard]] inline std::size_t input_place(std::size_t output, std::uint32_t stride, std::size_t tap,
                                             std::uint32_t dilation, std::uint32_t pad, std::size_t size) {
  const std::size_t padded = output * stride + tap * dilation;
  return padded < pad || padded - pad >= size ? kOutside : padded - pad;
}

// The columns of the output whose windows lie in the input's rows as a whole: [begin, end).
struct InnerColumns {
  std::size_t begin = 0, end = 0;
};
[[nodiscard]] InnerColumns inner_columns(const ConvolutionShape& shape);

// Where the output's levels lie, and what they are cut at.
struct Levels {
  std::int32_t zero = 0;
  std::int8_t least = -128, most = 127;
};

// XNNPACK's rounding: the product in float, to the nearest even level; cutting before comes to the same. What is cut is
// small enough that adding kRounds rounds it, which compilers do of several at once, where lrintf is a call.
[[nodiscard]] inline std::int8_t to_level(std::uint32_t sum, float factor, const Levels& levels) {
  constexpr float kRounds = 0x1.8p23F;
  const float scaled =
      std::clamp(static_cast<float>(static_cast<std::int32_t>(sum)) * factor,
                 static_cast<float>(levels.least - levels.zero), static_cast<float>(levels.most - levels.zero));
  const auto level = std::bit_cast<std::int32_t>(scaled + kRounds) - std::bit_cast<std::int32_t>(kRounds);
  return static_cast<std::int8_t>(level + levels.zero);
}

// Two products of a row have room in 16 bits, and so has a sum times its factor: no weight is -128 (with an input of
// -128 twice that is one more than 16 bits hold), and no sum can be so large.
[[nodiscard]] bool fits_16_bits(const ConvolutionS8& work);

// What XNNPACK takes for 8-bit layers of one group on ARM, in instructions as they were counted (docs/benchmarks.md).
struct XnnCostsS8 {
  std::size_t rows, outputs, numbers;  // of its tile, and what it multiplies at least
  double sixteen, least, window, end;  // of sixteen and of the least numbers, of a tap of a window, and the rest
};
// Of processors without products of four bytes.
inline constexpr XnnCostsS8 kXnnWithoutDot{
    .rows = 2, .outputs = 8, .numbers = 8, .sixteen = 66, .least = 41, .window = 9, .end = 67};
[[nodiscard]] double xnn_cost(const ConvolutionShape& shape, const XnnCostsS8& costs);

// A tap's share of a sum, as the products of four bytes have it: the input with 128 added, modulo 2^32.
[[nodiscard]] constexpr std::uint32_t product(std::uint8_t above, std::int8_t weight) {
  return static_cast<std::uint32_t>(above * weight);
}
[[nodiscard]] constexpr std::uint8_t with_128_added(std::int8_t level) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(level) ^ 0x80U);
}

// Modulo 2^32, as sums of 32 bits add up.
[[nodiscard]] constexpr std::int32_t wrapping_difference(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}

[[nodiscard]] constexpr std::size_t divided_up(std::size_t value, std::size_t by) { return (value + by - 1) / by; }
[[nodiscard]] constexpr std::size_t rounded_up(std::size_t value, std::size_t to) { return divided_up(value, to) * to; }

// Float16 is a kind of work of its own, of the same parts.
template <typename Number>
using Convolution = std::conditional_t<sizeof(Number) == sizeof(Half), ConvolutionF16, ConvolutionF32>;

[[nodiscard]] inline float to_number(float number, float /*like*/) { return number; }
[[nodiscard]] inline Half to_number(float number, Half /*like*/) { return to_half(number); }

// On which processors a form runs.
[[nodiscard]] inline bool always() { return true; }
[[nodiscard]] inline bool never() { return false; }

}  // namespace kinglet::engine::kernels
