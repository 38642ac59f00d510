// SPDX-License-Identifier: Apache-2.0
// Why: the loops over frames that become much smaller on ARM's 64-bit processors, which all have these vectors.
#if defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>

#include <algorithm>
#include <array>
#include <utility>

#include "camera/preprocess/resample/reduce_form.h"

namespace kinglet::camera::reduce {
namespace {

// Two sums for sixteen bytes of a row.
struct Blend {
  uint16x8_t low;
  uint16x8_t high;

  Blend(const std::uint8_t* from, uint8x16_t weight) {
    const uint8x16_t bytes = vld1q_u8(from);
    low = vmull_u8(vget_low_u8(bytes), vget_low_u8(weight));
    high = vmull_high_u8(bytes, weight);
  }
  void add(const std::uint8_t* from, uint8x16_t weight) {
    const uint8x16_t bytes = vld1q_u8(from);
    low = vmlal_u8(low, vget_low_u8(bytes), vget_low_u8(weight));
    high = vmlal_high_u8(high, bytes, weight);
  }
  void store(std::uint8_t* to) const {
    vst1q_u8(to, vrshrn_high_n_u16(vrshrn_n_u16(low, kSmallBits), high, kSmallBits));
  }
};

// A block by sixteen bytes at these places. Without a loop over them, in which the sums would live in memory.
template <std::size_t... kAt>
[[gnu::always_inline]] inline void blend_lanes(const std::uint8_t* top, std::size_t stride, const std::uint8_t* weights,
                                               std::int32_t count, std::uint8_t* out,
                                               std::integer_sequence<std::size_t, kAt...> /*places*/) {
  const uint8x16_t first = vld1q_dup_u8(weights);
  std::array sums{Blend(top + kByteLanes * kAt, first)...};
  std::int32_t i = 1;
  for (; i + 1 < count; i += 2) {
    const uint8x16x2_t both = vld2q_dup_u8(weights + i);
    top += stride;
    (sums[kAt].add(top + kByteLanes * kAt, both.val[0]), ...);
    top += stride;
    (sums[kAt].add(top + kByteLanes * kAt, both.val[1]), ...);
  }
  if (i < count) {
    const uint8x16_t last = vld1q_dup_u8(weights + i);
    top += stride;
    (sums[kAt].add(top + kByteLanes * kAt, last), ...);
  }
  (sums[kAt].store(out + kByteLanes * kAt), ...);
}

template <std::size_t kBlocks>
void blend_block_neon(const std::uint8_t* top, std::size_t stride, const std::uint8_t* weights, std::int32_t count,
                      std::uint8_t* out) {
  blend_lanes(top, stride, weights, count, out, std::make_index_sequence<kBlocks * kBlendBlock / kByteLanes>());
}

void split_neon(const std::uint8_t* pairs, std::size_t count, std::uint8_t* first, std::uint8_t* second) {
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    const uint8x16x2_t front = vld2q_u8(pairs + 2 * i);
    const uint8x16x2_t back = vld2q_u8(pairs + 2 * i + 32);
    vst1q_u8(first + i, front.val[0]);
    vst1q_u8(first + i + 16, back.val[0]);
    vst1q_u8(second + i, front.val[1]);
    vst1q_u8(second + i + 16, back.val[1]);
  }
  split_scalar(pairs + 2 * i, count - i, first + i, second + i);
}

// The products of one window with as many rows, which share first and weights.
template <std::size_t kRows>
using Dots = std::array<uint16x8_t, kRows>;

template <std::size_t kWindow, std::size_t kRows>
[[gnu::always_inline]] inline Dots<kRows> dots_neon(const std::array<const std::uint8_t*, kRows>& rows,
                                                    std::int32_t first, const std::uint8_t* weights,
                                                    std::size_t any_window) {
  Dots<kRows> dots;
  std::array<const std::uint8_t*, kRows> from;
  for (std::size_t r = 0; r < kRows; ++r) {
    from[r] = rows[r] + first;
    // Hidden from GCC 14, which else adds both for each half of a window and loads these by themselves.
    if constexpr (kWindow != kByteLanes) asm("" : "+r"(from[r]));
  }
  const uint8x16_t front = vld1q_u8(weights);
  for (std::size_t r = 0; r < kRows; ++r) {
    const uint8x16_t bytes = vld1q_u8(from[r]);
    dots[r] = vmlal_high_u8(vmull_u8(vget_low_u8(bytes), vget_low_u8(front)), bytes, front);
  }
  const std::size_t window = kWindow > 0 ? kWindow : any_window;
  for (std::size_t i = kByteLanes; i < window; i += kByteLanes) {
    const uint8x16_t by = vld1q_u8(weights + i);
    for (std::size_t r = 0; r < kRows; ++r) {
      const uint8x16_t bytes = vld1q_u8(from[r] + i);
      dots[r] = vmlal_high_u8(vmlal_u8(dots[r], vget_low_u8(bytes), vget_low_u8(by)), bytes, by);
    }
  }
  return dots;
}

template <std::size_t kRows>
[[gnu::always_inline]] inline Dots<kRows> paired(const Dots<kRows>& left, const Dots<kRows>& right) {
  Dots<kRows> sums;
  for (std::size_t r = 0; r < kRows; ++r) sums[r] = vpaddq_u16(left[r], right[r]);
  return sums;
}

// Eight outputs of each row at once; gives how many of each it made: all but the last few.
template <std::size_t kWindow, std::size_t kRows>
std::size_t narrow_blocks_neon(const std::array<const std::uint8_t*, kRows>& given, const std::int32_t* first,
                               const std::uint8_t* weights, std::size_t any_window, std::size_t length,
                               const std::array<std::uint8_t*, kRows>& out) {
  const std::array<const std::uint8_t*, kRows> rows = given;  // what is written might be these
  const std::array<std::uint8_t*, kRows> to = out;
  const std::size_t window = kWindow > 0 ? kWindow : any_window;
  std::size_t x = 0;
  for (; x + 8 <= length; x += 8, first += 8, weights += 8 * window) {
    const auto pair = [&](std::size_t i) {
      return paired<kRows>(dots_neon<kWindow, kRows>(rows, first[i], weights + i * window, window),
                           dots_neon<kWindow, kRows>(rows, first[i + 1], weights + (i + 1) * window, window));
    };
    const Dots<kRows> front = paired<kRows>(pair(0), pair(2));
    const Dots<kRows> sums = paired<kRows>(front, paired<kRows>(pair(4), pair(6)));
    for (std::size_t r = 0; r < kRows; ++r) vst1_u8(to[r] + x, vrshrn_n_u16(sums[r], kSmallBits));
  }
  return x;
}

// kReach bytes of a row, or so many sixteens of them as are needed.
template <std::size_t kSixteens>
struct Bytes;
template <>
struct Bytes<2> {
  uint8x16x2_t at;
  explicit Bytes(const std::uint8_t* from) : at(vld1q_u8_x2(from)) {}
  [[nodiscard]] uint8x16_t operator[](uint8x16_t places) const { return vqtbl2q_u8(at, places); }
};
template <>
struct Bytes<3> {
  uint8x16x3_t at;
  explicit Bytes(const std::uint8_t* from) : at(vld1q_u8_x3(from)) {}
  [[nodiscard]] uint8x16_t operator[](uint8x16_t places) const { return vqtbl3q_u8(at, places); }
};
template <>
struct Bytes<4> {
  uint8x16x4_t at;
  explicit Bytes(const std::uint8_t* from) : at(vld1q_u8_x4(from)) {}
  [[nodiscard]] uint8x16_t operator[](uint8x16_t places) const { return vqtbl4q_u8(at, places); }
};

// Sixteen outputs of as many rows as are given, whose bytes come from registers: of every window its first byte, of
// every window its second one, and so on.
template <std::size_t kSixteens, std::size_t... kRow>
[[gnu::always_inline]] inline void look_up_block(const std::array<const std::uint8_t*, sizeof...(kRow)>& rows,
                                                 const std::uint8_t* woven, std::size_t taken,
                                                 const std::array<std::uint8_t*, sizeof...(kRow)>& out,
                                                 std::index_sequence<kRow...> /*rows*/) {
  const std::array bytes{Bytes<kSixteens>(rows[kRow])...};
  const uint8x16_t one = vdupq_n_u8(1);
  const uint16x8_t zero = vdupq_n_u16(0);
  std::array sums{std::pair((void(kRow), zero), zero)...};
  uint8x16_t places = vld1q_u8(woven);
  const auto add = [](std::pair<uint16x8_t, uint16x8_t>& sum, uint8x16_t found, uint8x16_t weights) {
    sum.first = vmlal_u8(sum.first, vget_low_u8(found), vget_low_u8(weights));
    sum.second = vmlal_high_u8(sum.second, found, weights);
  };
  for (const std::uint8_t* end = woven + kByteLanes * taken; woven != end;) {
    woven += kByteLanes;
    const uint8x16x2_t weights = vld1q_u8_x2(woven);
    woven += kByteLanes;
    (add(sums[kRow], bytes[kRow][places], weights.val[0]), ...);
    places = vaddq_u8(places, one);
    (add(sums[kRow], bytes[kRow][places], weights.val[1]), ...);
    places = vaddq_u8(places, one);
  }
  (vst1q_u8(out[kRow], vrshrn_high_n_u16(vrshrn_n_u16(sums[kRow].first, kSmallBits), sums[kRow].second, kSmallBits)),
   ...);
}

template <std::size_t kSixteens, std::size_t kRows>
void look_up_rows(const std::array<const std::uint8_t*, kRows>& given, const Windows& windows,
                  const std::array<std::uint8_t*, kRows>& out) {
  const std::array<const std::uint8_t*, kRows> rows = given;  // what is written might be these
  const std::array<std::uint8_t*, kRows> to = out;
  const std::size_t length = windows.first.size();
  const std::size_t taken = windows.taken;
  const std::int32_t* first = windows.first.data();
  const std::uint8_t* woven = windows.woven.data();
  for (std::size_t done = 0; done < length; done += kByteLanes, woven += kByteLanes * (1 + taken)) {
    const std::size_t x = std::min(done, length - kByteLanes);
    std::array<const std::uint8_t*, kRows> from;
    std::array<std::uint8_t*, kRows> outputs;
    for (std::size_t r = 0; r < kRows; ++r) {
      from[r] = rows[r] + first[x];
      outputs[r] = to[r] + x;
    }
    look_up_block<kSixteens>(from, woven, taken, outputs, std::make_index_sequence<kRows>());
  }
}

template <std::size_t kRows>
void narrow_rows_neon(const std::array<const std::uint8_t*, kRows>& rows, const Windows& windows,
                      const std::array<std::uint8_t*, kRows>& out) {
  if (!windows.woven.empty()) {
    const auto look_up = windows.reach <= 2 * kByteLanes   ? &look_up_rows<2, kRows>
                         : windows.reach <= 3 * kByteLanes ? &look_up_rows<3, kRows>
                                                           : &look_up_rows<4, kRows>;
    return look_up(rows, windows, out);
  }
  const std::size_t window = windows.window;
  const auto blocks = window == kByteLanes       ? &narrow_blocks_neon<kByteLanes, kRows>
                      : window == 2 * kByteLanes ? &narrow_blocks_neon<2 * kByteLanes, kRows>
                                                 : &narrow_blocks_neon<0, kRows>;
  const std::size_t whole = window < kByteLanes ? 0 : windows.first.size();
  const std::size_t x = blocks(rows, windows.first.data(), windows.weights.data(), window, whole, out);
  for (std::size_t r = 0; r < kRows; ++r) narrow_rest(rows[r], windows, x, out[r]);
}

void narrow_neon(const std::uint8_t* row, const Windows& windows, std::uint8_t* out) {
  narrow_rows_neon<1>({row}, windows, {out});
}

}  // namespace

constexpr ReduceKernels kNeon{"neon", blend_blocks<blend_block_neon<1>, blend_block_neon<3>>, split_neon, narrow_neon,
                              narrow_rows_neon<2>};

}  // namespace kinglet::camera::reduce
#endif
