// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of 8-bit products for any of ARM's 64-bit processors: four rows by four outputs, sixteen
// numbers of a row at a time, of which two products are added up in 16 bits before they become 32. Assembly, as in the
// other form.
#if defined(__aarch64__)
#include <array>

#include "engine/backend/kernels/products/form.h"
#include "engine/backend/kernels/products/neon_rows.h"
#include "engine/backend/kernels/vectors/neon_levels.h"

namespace kinglet::engine::kernels::products {
namespace {

// clang-format off

#define KINGLET_FOUR(DO, row, s0, s1, s2, s3, t0, t1, t2, t3) \
  DO(row, 4, s0, t0) DO(row, 5, s1, t1) DO(row, 6, s2, t2) DO(row, 7, s3, t3)
#define KINGLET_FIRST(number, factor, sum, product) \
  "smull v" #product ".8h, v" #number ".8b, v" #factor ".8b\n"
#define KINGLET_SECOND(number, factor, sum, product)                                          \
  ".if %c[fits]\n"                                                                           \
  "smlal2 v" #product ".8h, v" #number ".16b, v" #factor ".16b\n"                             \
  ".else\n" KINGLET_ADD_UP(number, factor, sum, product)                                      \
  "smull2 v" #product ".8h, v" #number ".16b, v" #factor ".16b\n"                             \
  ".endif\n"
#define KINGLET_ADD_UP(number, factor, sum, product) "sadalp v" #sum ".4s, v" #product ".8h\n"

// Sixteen numbers of a row, and eight.
#define KINGLET_ROW(...)                                                                      \
  KINGLET_FOUR(KINGLET_FIRST, __VA_ARGS__) KINGLET_FOUR(KINGLET_SECOND, __VA_ARGS__)          \
  KINGLET_FOUR(KINGLET_ADD_UP, __VA_ARGS__)
#define KINGLET_HALF_ROW(...) KINGLET_FOUR(KINGLET_FIRST, __VA_ARGS__) KINGLET_FOUR(KINGLET_ADD_UP, __VA_ARGS__)
#define KINGLET_ROWS(DO)                                                                      \
  DO(0, 16, 17, 18, 19, 8, 9, 10, 11) DO(1, 20, 21, 22, 23, 12, 13, 14, 15)                   \
  DO(2, 24, 25, 26, 27, 8, 9, 10, 11) DO(3, 28, 29, 30, 31, 12, 13, 14, 15)

// The parts of each sum, in four registers, to one register.
#define KINGLET_PAIR(a, b) "addp v" #a ".4s, v" #a ".4s, v" #b ".4s\n"
#define KINGLET_JOIN(s0, s1, s2, s3) KINGLET_PAIR(s0, s1) KINGLET_PAIR(s2, s3) KINGLET_PAIR(s0, s2)

// clang-format on

template <bool kFits>
void multiply(const Product& of) {
  Product left = of;
  std::array<const std::int8_t*, kRows> at{};
  std::size_t steps = 0;
  asm volatile(
      // clang-format off
      "1:\n"
      KINGLET_BEGIN_SUMS
      "lsr %[steps], %[numbers], #4\n"
      "cbz %[steps], 3f\n"
      "2:\n"
      KINGLET_NUMBERS("q", 16)
      "ld1 {v4.16b-v7.16b}, [%[weights]], #64\n"
      "subs %[steps], %[steps], #1\n"
      KINGLET_ROWS(KINGLET_ROW)
      "b.ne 2b\n"
      "3:\n"
      "tbz %[numbers], #3, 4f\n"
      KINGLET_NUMBERS("d", 8)
      "ld1 {v4.8b-v7.8b}, [%[weights]], #32\n"
      KINGLET_ROWS(KINGLET_HALF_ROW)
      "4:\n"
      KINGLET_JOIN(16, 17, 18, 19) KINGLET_JOIN(20, 21, 22, 23)
      KINGLET_JOIN(24, 25, 26, 27) KINGLET_JOIN(28, 29, 30, 31)
      "ld1 {v4.4s}, [%[factors]], #16\n"
      "ld1 {v5.16b-v7.16b}, [%[bounds]]\n"
      "subs %[blocks], %[blocks], #1\n"
      KINGLET_LEVELS(16, 20, 24, 28, 4, 4, 4, 4, 5, 6, 7)
      "st1 {v16.s}[0], [%[output0]], #4\n"
      "st1 {v16.s}[1], [%[output1]], #4\n"
      "st1 {v16.s}[2], [%[output2]], #4\n"
      "st1 {v16.s}[3], [%[output3]], #4\n"
      "b.ne 1b\n"
      // clang-format on
      : KINGLET_MOVED(left, at, steps)
      : [row0] "r"(of.rows[0]), [row1] "r"(of.rows[1]), [row2] "r"(of.rows[2]), [row3] "r"(of.rows[3]),
        [numbers] "r"(of.numbers), [bounds] "r"(of.bounds), [fits] "i"(kFits)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
        "v31");
}

template <bool kFits>
constexpr Form form() {
  return {.block = 4, .run = 16, .step = 8, .bias_lanes = 4, .is_of_board = true, .multiply = multiply<kFits>};
}

}  // namespace

constexpr Form kNeon = form<true>();
constexpr Form kNeonWide = form<false>();

}  // namespace kinglet::engine::kernels::products
#endif
