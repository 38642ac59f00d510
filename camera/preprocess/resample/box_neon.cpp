// SPDX-License-Identifier: Apache-2.0
// Why: boxes on ARM's 64-bit processors, which all have these vectors.
#if defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>

#include <bit>

#include "camera/preprocess/resample/box_form.h"

namespace kinglet::camera::box {
namespace {

enum class Halves : std::uint8_t { kUp, kDown };

template <std::size_t kSamples, Halves kHalves>
void store_means(std::uint8_t* to, uint16x8_t low, uint16x8_t high) {
  constexpr int kShift = std::countr_zero(kSamples);
  if constexpr (kHalves == Halves::kDown && kSamples == 2) {
    vst1q_u8(to, vshrn_high_n_u16(vshrn_n_u16(low, kShift), high, kShift));
    return;
  }
  if constexpr (kHalves == Halves::kDown) {
    low = vqsubq_u16(low, vdupq_n_u16(1));
    high = vqsubq_u16(high, vdupq_n_u16(1));
  }
  vst1q_u8(to, vrshrn_high_n_u16(vrshrn_n_u16(low, kShift), high, kShift));
}

// The rows' sums of two samples that stand beside each other, of 64 bytes.
template <std::size_t kRows>
[[gnu::always_inline]] inline uint16x8x4_t plain_sums(const std::uint8_t* top, std::size_t stride) {
  uint8x16x4_t bytes = vld1q_u8_x4(top);
  uint16x8x4_t sums;
  for (std::size_t i = 0; i < 4; ++i) sums.val[i] = vpaddlq_u8(bytes.val[i]);
  for (std::size_t row = 1; row < kRows; ++row) {
    bytes = vld1q_u8_x4(top += stride);
    for (std::size_t i = 0; i < 4; ++i) sums.val[i] = vpadalq_u8(sums.val[i], bytes.val[i]);
  }
  return sums;
}

struct Plain {
  static constexpr auto kScalar = plain_scalar;
  static constexpr std::size_t kSampleBytes = 1;

  template <std::size_t kSide, std::size_t kRows, Halves kHalves>
  static void block(const BoxRows& from, const Outputs& out) {
    for (std::size_t half = 0; half < 2; ++half) {
      const uint16x8x4_t sums = plain_sums<kRows>(from.top + 64 * half, from.stride);
      if constexpr (kSide == 4) {
        store_means<kSide * kRows, kHalves>(out[0] + 16 * half, vpaddq_u16(sums.val[0], sums.val[1]),
                                            vpaddq_u16(sums.val[2], sums.val[3]));
      } else {
        store_means<kSide * kRows, kHalves>(out[0] + 32 * half, sums.val[0], sums.val[1]);
        store_means<kSide * kRows, kHalves>(out[0] + 32 * half + 16, sums.val[2], sums.val[3]);
      }
    }
  }
};

// The same of U and of V, of 32 bytes.
template <std::size_t kRows>
[[gnu::always_inline]] inline uint16x8x2_t pair_sums(const std::uint8_t* top, std::size_t stride) {
  uint8x16x2_t bytes = vld2q_u8(top);
  uint16x8x2_t sums{{vpaddlq_u8(bytes.val[0]), vpaddlq_u8(bytes.val[1])}};
  for (std::size_t row = 1; row < kRows; ++row) {
    bytes = vld2q_u8(top += stride);
    for (std::size_t i = 0; i < 2; ++i) sums.val[i] = vpadalq_u8(sums.val[i], bytes.val[i]);
  }
  return sums;
}

struct Pairs {
  static constexpr auto kScalar = pairs_scalar;
  static constexpr std::size_t kSampleBytes = 2;

  template <std::size_t kSide, std::size_t kRows, Halves kHalves>
  static void block(const BoxRows& from, const Outputs& out) {
    std::array<uint16x8x2_t, 4> sums;
    for (std::size_t i = 0; i < 4; ++i) sums[i] = pair_sums<kRows>(from.top + 32 * i, from.stride);
    for (std::size_t c = 0; c < 2; ++c) {
      if constexpr (kSide == 4) {
        store_means<kSide * kRows, kHalves>(out[c], vpaddq_u16(sums[0].val[c], sums[1].val[c]),
                                            vpaddq_u16(sums[2].val[c], sums[3].val[c]));
      } else {
        store_means<kSide * kRows, kHalves>(out[c], sums[0].val[c], sums[1].val[c]);
        store_means<kSide * kRows, kHalves>(out[c] + 16, sums[2].val[c], sums[3].val[c]);
      }
    }
  }
};

// Of 64 bytes: Y in boxes four wide, U and V in those of two.
struct YuyvSums {
  uint16x8_t y;
  uint16x8_t u;
  uint16x8_t v;
};
template <std::size_t kRows>
[[gnu::always_inline]] inline YuyvSums yuyv_sums(const std::uint8_t* top, std::size_t stride) {
  uint8x16x4_t bytes = vld4q_u8(top);
  YuyvSums sums{vpadalq_u8(vpaddlq_u8(bytes.val[0]), bytes.val[2]), vpaddlq_u8(bytes.val[1]), vpaddlq_u8(bytes.val[3])};
  for (std::size_t row = 1; row < kRows; ++row) {
    bytes = vld4q_u8(top += stride);
    sums.y = vpadalq_u8(vpadalq_u8(sums.y, bytes.val[0]), bytes.val[2]);
    sums.u = vpadalq_u8(sums.u, bytes.val[1]);
    sums.v = vpadalq_u8(sums.v, bytes.val[3]);
  }
  return sums;
}

// Sixteen sums of bytes.
struct Wide {
  uint16x8_t low;
  uint16x8_t high;

  explicit Wide(uint8x16_t bytes) : low(vmovl_u8(vget_low_u8(bytes))), high(vmovl_high_u8(bytes)) {}
  Wide(uint8x16_t a, uint8x16_t b) : low(vaddl_u8(vget_low_u8(a), vget_low_u8(b))), high(vaddl_high_u8(a, b)) {}
  void add(uint8x16_t bytes) {
    low = vaddw_u8(low, vget_low_u8(bytes));
    high = vaddw_high_u8(high, bytes);
  }
};

struct Yuyv {
  static constexpr auto kScalar = yuyv_scalar;
  static constexpr std::size_t kSampleBytes = 2;

  template <std::size_t kSide, std::size_t kRows, Halves kHalves>
  static void block(const BoxRows& from, const Outputs& out) {
    if constexpr (kSide == 4) {
      const YuyvSums front = yuyv_sums<kRows>(from.top, from.stride);
      const YuyvSums back = yuyv_sums<kRows>(from.top + 64, from.stride);
      store_means<4 * kRows, kHalves>(out[0], front.y, back.y);
      store_means<2 * kRows, kHalves>(out[1], front.u, back.u);
      store_means<2 * kRows, kHalves>(out[2], front.v, back.v);
    } else {
      for (std::size_t half = 0; half < 2; ++half)
        half_block<kRows, kHalves>(from.top + 64 * half, from.stride, out, 16 * half);
    }
  }

  // Y in boxes two wide, U and V in those of one.
  template <std::size_t kRows, Halves kHalves>
  [[gnu::always_inline]] static void half_block(const std::uint8_t* top, std::size_t stride, const Outputs& out,
                                                std::size_t at) {
    uint8x16x4_t bytes = vld4q_u8(top);
    Wide y(bytes.val[0], bytes.val[2]);
    if constexpr (kRows == 1) {
      store_means<2, kHalves>(out[0] + at, y.low, y.high);
      vst1q_u8(out[1] + at, bytes.val[1]);
      vst1q_u8(out[2] + at, bytes.val[3]);
    } else {
      Wide u(bytes.val[1]);
      Wide v(bytes.val[3]);
      for (std::size_t row = 1; row < kRows; ++row) {
        bytes = vld4q_u8(top += stride);
        y.add(bytes.val[0]);
        y.add(bytes.val[2]);
        u.add(bytes.val[1]);
        v.add(bytes.val[3]);
      }
      store_means<2 * kRows, kHalves>(out[0] + at, y.low, y.high);
      store_means<kRows, kHalves>(out[1] + at, u.low, u.high);
      store_means<kRows, kHalves>(out[2] + at, v.low, v.high);
    }
  }
};

template <typename Form, std::size_t kRows, Halves kHalves>
void means_of_rows(const BoxRows& from, const Outputs& out) {
  constexpr std::size_t kBytes = Form::kSampleBytes;
  constexpr std::size_t kSamples = kBlockBytes / kBytes;
  if (from.side == 2) {
    in_blocks<Form::template block<2, kRows, kHalves>, Form::kScalar>(from, out, kSamples / 2, kBytes);
  } else {
    in_blocks<Form::template block<4, kRows, kHalves>, Form::kScalar>(from, out, kSamples / 4, kBytes);
  }
}

template <typename Form, std::size_t kRows>
void means_rounded(const BoxRows& from, const Outputs& out) {
  if (from.halves_down) return means_of_rows<Form, kRows, Halves::kDown>(from, out);
  means_of_rows<Form, kRows, Halves::kUp>(from, out);
}

template <typename Form>
void means_neon(const BoxRows& from, const Outputs& out) {
  switch (from.rows) {
    case 1:
      return means_rounded<Form, 1>(from, out);
    case 2:
      return means_rounded<Form, 2>(from, out);
    case 4:
      return means_rounded<Form, 4>(from, out);
    default:
      Form::kScalar(from, out);
  }
}

}  // namespace

constexpr BoxKernels kNeon{"neon", {means_neon<Plain>, means_neon<Pairs>, means_neon<Yuyv>}};

}  // namespace kinglet::camera::box
#endif
