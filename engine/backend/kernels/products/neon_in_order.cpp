// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of 8-bit products for processors whose instructions wait for each other in their order
// (Cortex-A53): what the other form computes, of the same packed numbers, written so that nothing is waited for. Two
// rows are multiplied by turns, numbers are read a step before they are multiplied, a row of two in halves of eight
// bytes, which such a processor reads beside its products, and the levels of a block are finished among the first
// products of the next one.
#if defined(__aarch64__)
#include "engine/backend/kernels/products/form.h"
#include "engine/backend/kernels/vectors/neon_levels.h"

namespace kinglet::engine::kernels::products {
namespace {

// clang-format off

// Registers: rows v0 to v3, factors of four outputs v4 to v7, products v8 to v15, four parts of a sum each in v16 to
// v31. Levels that are not finished are in v30 and v31 as 16 bits, their bounds in v25 to v27.

#define KINGLET_LOW(a, b, factor, p, q)                                                             \
  "smull v" #p ".8h, v" #a ".8b, v" #factor ".8b\n"                                                 \
  "smull v" #q ".8h, v" #b ".8b, v" #factor ".8b\n"
#define KINGLET_HIGH(a, b, factor, p, q)                                                            \
  "smlal2 v" #p ".8h, v" #a ".16b, v" #factor ".16b\n"                                              \
  "smlal2 v" #q ".8h, v" #b ".16b, v" #factor ".16b\n"
#define KINGLET_ADD_UP(op, s, t, p, q)                                                              \
  op " v" #s ".4s, v" #p ".8h\n"                                                                    \
  op " v" #t ".4s, v" #q ".8h\n"

#define KINGLET_NUMBERS(a, b, mine, at)                                                             \
  "ldr %[" mine "], [%[upper" #a "], %[" at "]]\n" "ldr q" #b ", [%[row" #b "], %[" at "]]\n"       \
  "ldr d" #a ", [%[row" #a "], %[" at "]]\n"

// Sixteen numbers of two rows, and after their last product the next ones, all loads together: of row `a` the upper half
// goes by way of `mine`, and joins the lower one in the next half, as that of `before` does here. In between what else
// there is to do.
#define KINGLET_HALF(op, a, b, before, mine, theirs, s0, s1, s2, s3, t0, t1, t2, t3, loads, e1, e2, e3, e4, e5)\
  KINGLET_LOW(a, b, 4, 8, 12) KINGLET_LOW(a, b, 5, 9, 13) e1                                        \
  KINGLET_LOW(a, b, 6, 10, 14) KINGLET_LOW(a, b, 7, 11, 15) e2                                      \
  KINGLET_HIGH(a, b, 4, 8, 12) KINGLET_HIGH(a, b, 5, 9, 13) e3                                      \
  KINGLET_HIGH(a, b, 6, 10, 14) KINGLET_HIGH(a, b, 7, 11, 15)                                       \
  KINGLET_NUMBERS(a, b, mine, "next") loads                                                         \
  "ins v" #before ".d[1], %[" theirs "]\n"                                                          \
  KINGLET_ADD_UP(op, s0, t0, 8, 12) e4                                                              \
  KINGLET_ADD_UP(op, s1, t1, 9, 13) KINGLET_ADD_UP(op, s2, t2, 10, 14)                              \
  KINGLET_ADD_UP(op, s3, t3, 11, 15) e5

// The factors of the next step; lines of them in time for the memory behind the caches.
#define KINGLET_FACTORS "ldp q4, q5, [%[weights]]\n" "ldp q6, q7, [%[weights], #32]\n" "add %[weights], %[weights], #64\n"
#define KINGLET_NEXT "adds %[next], %[next], #16\n"
#define KINGLET_AHEAD "prfm pldl1keep, [%[weights], #448]\n"

#define KINGLET_STEP                                                                                \
  KINGLET_HALF("sadalp", 0, 1, 2, "high0", "high2", 16, 17, 18, 19, 20, 21, 22, 23,                 \
               KINGLET_AHEAD, "", "", "", "", "")                                                   \
  KINGLET_HALF("sadalp", 2, 3, 0, "high2", "high0", 24, 25, 26, 27, 28, 29, 30, 31,                 \
               KINGLET_FACTORS KINGLET_NEXT, "", "", "", "", "")
// The first of a block, and the end of the block before.
#define KINGLET_FIRST_STEP                                                                          \
  KINGLET_HALF("saddlp", 0, 1, 2, "high0", "high2", 16, 17, 18, 19, 20, 21, 22, 23,                 \
               KINGLET_AHEAD, KINGLET_ADD_ZERO, "", KINGLET_NARROW, KINGLET_NARROW_2, KINGLET_LEAST)\
  KINGLET_HALF("saddlp", 2, 3, 0, "high2", "high0", 24, 25, 26, 27, 28, 29, 30, 31,                 \
               KINGLET_FACTORS KINGLET_NEXT KINGLET_STORE, "", KINGLET_MOST, "", "", "")

// Levels from 16 bits on, as KINGLET_LEVELS has them.
#define KINGLET_ADD_ZERO "sqadd v30.8h, v30.8h, v25.8h\n" "sqadd v31.8h, v31.8h, v25.8h\n"
#define KINGLET_NARROW "sqxtn v30.8b, v30.8h\n"
#define KINGLET_NARROW_2 "sqxtn2 v30.16b, v31.8h\n"
#define KINGLET_LEAST "smax v30.16b, v30.16b, v26.16b\n"
#define KINGLET_MOST "smin v30.16b, v30.16b, v27.16b\n"
// Before the first block there are none: what is stored then is stored over, since `move` is 0.
#define KINGLET_STORE                                                                               \
  "st1 {v30.s}[0], [%[output0]], %[move]\n" "st1 {v30.s}[1], [%[output1]], %[move]\n"               \
  "st1 {v30.s}[2], [%[output2]], %[move]\n" "st1 {v30.s}[3], [%[output3]], %[move]\n"               \
  "mov %[move], #4\n"
#define KINGLET_END_OF_LEVELS                                                                       \
  KINGLET_ADD_ZERO KINGLET_NARROW KINGLET_NARROW_2 KINGLET_LEAST KINGLET_MOST KINGLET_STORE

// The parts of each sum, in four registers, to one register.
#define KINGLET_PAIR(a, b) "addp v" #a ".4s, v" #a ".4s, v" #b ".4s\n"

// The first numbers of each row, and in between what else there is to do.
#define KINGLET_BEGIN_ROWS(e1, e2)                                                                  \
  KINGLET_NUMBERS(0, 1, "high0", "begin") e1                                                        \
  KINGLET_NUMBERS(2, 3, "high2", "begin") "add %[next], %[begin], #16\n" e2                         \
  "ins v0.d[1], %[high0]\n"

// Eight numbers of two rows, which were read with eight more.
#define KINGLET_LAST_EIGHT(a, b, s0, s1, s2, s3, t0, t1, t2, t3)                                    \
  KINGLET_LOW(a, b, 4, 8, 12) KINGLET_LOW(a, b, 5, 9, 13)                                           \
  KINGLET_LOW(a, b, 6, 10, 14) KINGLET_LOW(a, b, 7, 11, 15)                                         \
  KINGLET_ADD_UP("sadalp", s0, t0, 8, 12) KINGLET_ADD_UP("sadalp", s1, t1, 9, 13)                   \
  KINGLET_ADD_UP("sadalp", s2, t2, 10, 14) KINGLET_ADD_UP("sadalp", s3, t3, 11, 15)

#define KINGLET_ZERO(sum) "movi v" #sum ".4s, #0\n"
#define KINGLET_BIAS(sum) "add v" #sum ".4s, v" #sum ".4s, v12.4s\n"

// clang-format on

// Reads a step more of the rows and of the weights than there is.
void multiply(const Product& of) {
  Product left = of;
  // Of each row what stands a step behind its whole ones, so that the last step is told by its place, and the upper
  // half of what stands there.
  const std::size_t behind = of.numbers / 16 * 16 + 16;
  const std::int8_t* const row0 = of.rows[0] + behind;
  const std::int8_t* const row2 = of.rows[2] + behind;
  std::size_t next = 0;
  std::size_t move = 0;
  std::uint64_t high0 = 0;
  std::uint64_t high2 = 0;
  asm volatile(
      // clang-format off
      KINGLET_FACTORS
      KINGLET_BEGIN_ROWS("", "")
      "1:\n"
      "cmn %[begin], #16\n"
      "b.eq 5f\n"
      KINGLET_FIRST_STEP
      "b.eq 3f\n"
      "2:\n"
      KINGLET_STEP
      "b.ne 2b\n"
      "3:\n"
      "tbz %[numbers], #3, 4f\n"
      "sub %[weights], %[weights], #64\n"
      "ld1 {v4.8b-v7.8b}, [%[weights]], #32\n"
      KINGLET_LAST_EIGHT(0, 1, 16, 17, 18, 19, 20, 21, 22, 23)
      KINGLET_LAST_EIGHT(2, 3, 24, 25, 26, 27, 28, 29, 30, 31)
      KINGLET_FACTORS
      "4:\n"
      "subs %[blocks], %[blocks], #1\n"
      "ldr q8, [%[factors]]\n"
      "add %[factors], %[factors], #16\n"
      "ld4 {v12.4s-v15.4s}, [%[bias]], #64\n"
      KINGLET_PAIR(16, 17) KINGLET_PAIR(18, 19) KINGLET_PAIR(20, 21) KINGLET_PAIR(22, 23)
      KINGLET_PAIR(24, 25) KINGLET_PAIR(26, 27) KINGLET_PAIR(28, 29) KINGLET_PAIR(30, 31)
      KINGLET_PAIR(16, 18) KINGLET_PAIR(20, 22) KINGLET_PAIR(24, 26) KINGLET_PAIR(28, 30)
      "ld1 {v25.16b-v27.16b}, [%[bounds]]\n"
      KINGLET_EACH(KINGLET_BIAS, 16, 20, 24, 28)
      KINGLET_BEGIN_ROWS(KINGLET_EACH(KINGLET_TO_FLOAT, 16, 20, 24, 28),
                         KINGLET_SCALE(16, 8) KINGLET_SCALE(20, 8) KINGLET_SCALE(24, 8) KINGLET_SCALE(28, 8))
      KINGLET_EACH(KINGLET_TO_WHOLE, 16, 20, 24, 28)
      "uzp1 v30.8h, v16.8h, v20.8h\n"
      "uzp1 v31.8h, v24.8h, v28.8h\n"
      "b.ne 1b\n"
      KINGLET_END_OF_LEVELS
      "b 6f\n"
      "5:\n"
      KINGLET_END_OF_LEVELS
      KINGLET_EACH(KINGLET_ZERO, 16, 17, 18, 19) KINGLET_EACH(KINGLET_ZERO, 20, 21, 22, 23)
      KINGLET_EACH(KINGLET_ZERO, 24, 25, 26, 27) KINGLET_EACH(KINGLET_ZERO, 28, 29, 30, 31)
      "b 3b\n"
      "6:\n"
      // clang-format on
      : [weights] "+&r"(left.weights), [bias] "+&r"(left.bias), [factors] "+&r"(left.factors),
        [blocks] "+&r"(left.blocks), [output0] "+&r"(left.outputs[0]), [output1] "+&r"(left.outputs[1]),
        [output2] "+&r"(left.outputs[2]), [output3] "+&r"(left.outputs[3]), [move] "+&r"(move), [next] "=&r"(next),
        [high0] "=&r"(high0), [high2] "=&r"(high2)
      : [row0] "r"(row0), [row1] "r"(of.rows[1] + behind), [row2] "r"(row2), [row3] "r"(of.rows[3] + behind),
        [upper0] "r"(row0 + 8), [upper2] "r"(row2 + 8), [begin] "r"(-behind), [numbers] "r"(of.numbers),
        [bounds] "r"(of.bounds)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
        "v31");
}

}  // namespace

constexpr Form kNeonInOrder{
    .block = 4, .run = 16, .step = 8, .bias_lanes = 4, .is_of_board = true, .multiply = multiply};

}  // namespace kinglet::engine::kernels::products
#endif
