// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of 8-bit products for ARM's 64-bit processors with products of four bytes: four rows by
// sixteen outputs. Assembly, so that one load brings the factors of sixteen outputs and no register is copied.
#if defined(__aarch64__)
#include <array>

#include "engine/backend/kernels/products/form.h"
#include "engine/backend/kernels/products/neon_rows.h"
#include "engine/backend/kernels/vectors/neon_levels.h"

namespace kinglet::engine::kernels::products {
namespace {

// clang-format off

#define KINGLET_DOT(sum, factor, number, lane) "sdot v" #sum ".4s, v" #factor ".16b, v" #number ".4b[" #lane "]\n"
#define KINGLET_ROW(s0, s1, s2, s3, number, lane)                                                   \
  KINGLET_DOT(s0, 4, number, lane) KINGLET_DOT(s1, 5, number, lane)                                 \
  KINGLET_DOT(s2, 6, number, lane) KINGLET_DOT(s3, 7, number, lane)
// Four numbers of each row.
#define KINGLET_WORD(lane)                                                                          \
  "ld1 {v4.16b-v7.16b}, [%[weights]], #64\n"                                                        \
  KINGLET_ROW(16, 17, 18, 19, 0, lane) KINGLET_ROW(20, 21, 22, 23, 1, lane)                         \
  KINGLET_ROW(24, 25, 26, 27, 2, lane) KINGLET_ROW(28, 29, 30, 31, 3, lane)
#define KINGLET_END(s0, s1, s2, s3, output)                                                         \
  KINGLET_LEVELS(s0, s1, s2, s3, 4, 5, 6, 7, 12, 13, 14)                                            \
  "st1 {v" #s0 ".16b}, [%[" output "]], #16\n"

// clang-format on

template <bool kFits>
void multiply(const Product& of) {
  Product left = of;
  std::array<const std::int8_t*, kRows> at{};
  std::size_t steps = 0;
  asm volatile(
      // clang-format off
      ".arch_extension dotprod\n"
      "ld1 {v12.16b-v14.16b}, [%[bounds]]\n"
      "1:\n"
      KINGLET_BEGIN_SUMS
      "lsr %[steps], %[numbers], #4\n"
      "cbz %[steps], 3f\n"
      "2:\n"
      KINGLET_NUMBERS("q", 16)
      "subs %[steps], %[steps], #1\n"
      KINGLET_WORD(0) KINGLET_WORD(1) KINGLET_WORD(2) KINGLET_WORD(3)
      "b.ne 2b\n"
      "3:\n"
      "tbz %[numbers], #3, 4f\n"
      KINGLET_NUMBERS("d", 8)
      KINGLET_WORD(0) KINGLET_WORD(1)
      "4:\n"
      "tbz %[numbers], #2, 5f\n"
      KINGLET_NUMBERS("s", 4)
      KINGLET_WORD(0)
      "5:\n"
      "ld1 {v4.4s-v7.4s}, [%[factors]], #64\n"
      "subs %[blocks], %[blocks], #1\n"
      KINGLET_END(16, 17, 18, 19, "output0") KINGLET_END(20, 21, 22, 23, "output1")
      KINGLET_END(24, 25, 26, 27, "output2") KINGLET_END(28, 29, 30, 31, "output3")
      "b.ne 1b\n"
      // clang-format on
      : KINGLET_MOVED(left, at, steps)
      : [row0] "r"(of.rows[0]), [row1] "r"(of.rows[1]), [row2] "r"(of.rows[2]), [row3] "r"(of.rows[3]),
        [numbers] "r"(of.numbers), [bounds] "r"(of.bounds), [fits] "i"(kFits)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v12", "v13", "v14", "v16", "v17", "v18", "v19",
        "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

template <bool kFits>
constexpr Form form() {
  return {.block = 16, .run = 4, .step = 4, .bias_lanes = 1, .is_of_board = true, .multiply = multiply<kFits>};
}

}  // namespace

constexpr Form kNeonDot = form<true>();
constexpr Form kNeonDotWide = form<false>();

}  // namespace kinglet::engine::kernels::products
#endif
