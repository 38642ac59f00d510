// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of 8-bit products for ARM's 64-bit processors with products of four bytes: four rows by
// sixteen outputs. Assembly, so that one load brings the factors of sixteen outputs and no register is copied.
#if defined(__aarch64__)
#include "engine/backend/kernels/products/form.h"
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
#define KINGLET_NUMBERS(kind, bytes)                                                                \
  "ldr " kind "0, [%[at0]], #" #bytes "\n" "ldr " kind "1, [%[at1]], #" #bytes "\n"                 \
  "ldr " kind "2, [%[at2]], #" #bytes "\n" "ldr " kind "3, [%[at3]], #" #bytes "\n"
#define KINGLET_END(s0, s1, s2, s3, output)                                                         \
  KINGLET_LEVELS(s0, s1, s2, s3, 4, 5, 6, 7, 12, 13, 14)                                            \
  "st1 {v" #s0 ".16b}, [%[" output "]], #16\n"

// clang-format on

template <bool kFits>
void multiply(const Product& of) {
  const std::int8_t* weights = of.weights;
  const std::int32_t* bias = of.bias;
  const float* factors = of.factors;
  std::size_t blocks = of.blocks;
  std::int8_t* output0 = of.outputs[0];
  std::int8_t* output1 = of.outputs[1];
  std::int8_t* output2 = of.outputs[2];
  std::int8_t* output3 = of.outputs[3];
  const std::int8_t* at0 = nullptr;
  const std::int8_t* at1 = nullptr;
  const std::int8_t* at2 = nullptr;
  const std::int8_t* at3 = nullptr;
  std::size_t left = 0;
  asm volatile(
      // clang-format off
      ".arch_extension dotprod\n"
      "ld1 {v12.16b-v14.16b}, [%[bounds]]\n"
      "1:\n"
      "ld1 {v16.4s-v19.4s}, [%[bias]]\n"
      "ld1 {v20.4s-v23.4s}, [%[bias]]\n"
      "ld1 {v24.4s-v27.4s}, [%[bias]]\n"
      "ld1 {v28.4s-v31.4s}, [%[bias]], #64\n"
      "mov %[at0], %[row0]\n" "mov %[at1], %[row1]\n" "mov %[at2], %[row2]\n" "mov %[at3], %[row3]\n"
      "lsr %[left], %[numbers], #4\n"
      "cbz %[left], 3f\n"
      "2:\n"
      KINGLET_NUMBERS("q", 16)
      "subs %[left], %[left], #1\n"
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
      : [weights] "+&r"(weights), [bias] "+&r"(bias), [factors] "+&r"(factors), [blocks] "+&r"(blocks),
        [output0] "+&r"(output0), [output1] "+&r"(output1), [output2] "+&r"(output2), [output3] "+&r"(output3),
        [at0] "=&r"(at0), [at1] "=&r"(at1), [at2] "=&r"(at2), [at3] "=&r"(at3), [left] "=&r"(left)
      : [row0] "r"(of.rows[0]), [row1] "r"(of.rows[1]), [row2] "r"(of.rows[2]), [row3] "r"(of.rows[3]),
        [numbers] "r"(of.numbers), [bounds] "r"(of.bounds), [fits] "i"(kFits)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v12", "v13", "v14", "v16", "v17", "v18", "v19",
        "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

template <bool kFits>
constexpr Form form() {
  return {.block = 16, .run = 4, .step = 4, .bias_lanes = 1, .multiply = multiply<kFits>};
}

}  // namespace

constexpr Form kNeonDot = form<true>();
constexpr Form kNeonDotWide = form<false>();

}  // namespace kinglet::engine::kernels::products
#endif
