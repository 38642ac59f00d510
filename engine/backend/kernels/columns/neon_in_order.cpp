// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of depthwise columns for processors whose instructions wait for each other in their order
// (Cortex-A53), windows of 3x3 alone: what the other form computes, of the same columns, written so that nothing is
// waited for. Factors and bias stay in registers, numbers are read before they are wanted, and the levels of an output
// are finished among the first products of the next one.
#if defined(__aarch64__)
#include "engine/backend/kernels/columns/form.h"
#include "engine/backend/kernels/vectors/neon_levels.h"

namespace kinglet::engine::kernels::columns {
namespace {

// clang-format off

// Registers: weights v0 to v8, bias v9 to v12, factors v13 to v16, bounds v17 to v19, sums v20 to v23, products of
// channels v24 and v25, others v26 and v27, numbers v28 to v31. Levels that are not finished are in v28 and v29.

#define KINGLET_ONE(op, number, factor)                                     \
  op " v24.8h, v" #number ".8b, v" #factor ".8b\n"                          \
  op "2 v25.8h, v" #number ".16b, v" #factor ".16b\n"
#define KINGLET_OTHER(op, number, factor)                                   \
  op " v26.8h, v" #number ".8b, v" #factor ".8b\n"                          \
  op "2 v27.8h, v" #number ".16b, v" #factor ".16b\n"
#define KINGLET_BEGIN(low, high)                                            \
  "saddw v20.4s, v9.4s, v" #low ".4h\n" "saddw2 v21.4s, v10.4s, v" #low ".8h\n" \
  "saddw v22.4s, v11.4s, v" #high ".4h\n" "saddw2 v23.4s, v12.4s, v" #high ".8h\n"
#define KINGLET_ADD_UP(low, high)                                           \
  "saddw v20.4s, v20.4s, v" #low ".4h\n" "saddw2 v21.4s, v21.4s, v" #low ".8h\n" \
  "saddw v22.4s, v22.4s, v" #high ".4h\n" "saddw2 v23.4s, v23.4s, v" #high ".8h\n"

// The columns of the next output; flags: it is one more than there are.
#define KINGLET_NEXT "add %[at], %[at], %[column_step]\n" "subs %[left], %[left], #1\n"
#define KINGLET_NUMBER(to, tap) "ldr q" #to ", [%[tap" #tap "], %[at]]\n"

// Levels from 16 bits on, as KINGLET_LEVELS has them.
#define KINGLET_ADD_ZERO "sqadd v28.8h, v28.8h, v17.8h\n" "sqadd v29.8h, v29.8h, v17.8h\n"
#define KINGLET_NARROW "sqxtn v28.8b, v28.8h\n"
#define KINGLET_NARROW_2 "sqxtn2 v28.16b, v29.8h\n"
#define KINGLET_LEAST "smax v28.16b, v28.16b, v18.16b\n"
#define KINGLET_MOST "smin v28.16b, v28.16b, v19.16b\n"
// Before the first output there are none: what is stored then is stored over, since `move` is 0.
#define KINGLET_STORE "st1 {v28.16b}, [%[output]], %[move]\n" "mov %[move], %[output_step]\n"

// Outputs one after the other: two products of a channel are added up before they become 32 bits.
#define KINGLET_BY_TWO                                                      \
  KINGLET_NUMBER(29, 0) KINGLET_NUMBER(30, 1) KINGLET_NUMBER(31, 2) KINGLET_NUMBER(28, 3) \
  KINGLET_ONE("smull", 31, 2) KINGLET_OTHER("smull", 29, 0)                 \
  KINGLET_ONE("smlal", 28, 3) KINGLET_OTHER("smlal", 30, 1)                 \
  "1:\n"                                                                    \
  KINGLET_NUMBER(30, 4) KINGLET_NUMBER(31, 5)                               \
  KINGLET_BEGIN(24, 25) KINGLET_ADD_ZERO KINGLET_ONE("smull", 30, 4)        \
  KINGLET_NUMBER(30, 6)                                                     \
  KINGLET_ADD_UP(26, 27) KINGLET_NARROW KINGLET_ONE("smlal", 31, 5)         \
  KINGLET_OTHER("smull", 30, 6)                                             \
  KINGLET_NUMBER(30, 8) KINGLET_NUMBER(31, 7)                               \
  KINGLET_NARROW_2 KINGLET_ADD_UP(24, 25) KINGLET_OTHER("smlal", 31, 7)     \
  KINGLET_ONE("smull", 30, 8) KINGLET_LEAST                                 \
  KINGLET_NEXT KINGLET_NUMBER(29, 0) KINGLET_NUMBER(30, 1) KINGLET_NUMBER(31, 2) \
  KINGLET_ADD_UP(26, 27) KINGLET_MOST KINGLET_ADD_UP(24, 25)                \
  KINGLET_ONE("smull", 31, 2)                                               \
  KINGLET_STORE KINGLET_NUMBER(28, 3)                                       \
  KINGLET_EACH(KINGLET_TO_FLOAT, 20, 21, 22, 23) KINGLET_OTHER("smull", 29, 0) \
  KINGLET_SCALE(20, 13) KINGLET_SCALE(21, 14) KINGLET_SCALE(22, 15) KINGLET_SCALE(23, 16) \
  KINGLET_ONE("smlal", 28, 3)                                               \
  KINGLET_EACH(KINGLET_TO_WHOLE, 20, 21, 22, 23) KINGLET_OTHER("smlal", 30, 1) \
  "uzp1 v28.8h, v20.8h, v21.8h\n" "uzp1 v29.8h, v22.8h, v23.8h\n"           \
  "b.ne 1b\n"

// Each product by itself.
#define KINGLET_BY_ONE                                                      \
  KINGLET_NUMBER(29, 0) KINGLET_NUMBER(30, 1)                               \
  KINGLET_OTHER("smull", 29, 0) KINGLET_ONE("smull", 30, 1)                 \
  "1:\n"                                                                    \
  KINGLET_NUMBER(30, 2) KINGLET_NUMBER(31, 3)                               \
  KINGLET_BEGIN(26, 27) KINGLET_ADD_ZERO KINGLET_OTHER("smull", 30, 2)      \
  KINGLET_ADD_UP(24, 25) KINGLET_NARROW KINGLET_ONE("smull", 31, 3)         \
  KINGLET_NUMBER(30, 4) KINGLET_NUMBER(31, 5)                               \
  KINGLET_ADD_UP(26, 27) KINGLET_NARROW_2 KINGLET_OTHER("smull", 30, 4)     \
  KINGLET_ADD_UP(24, 25) KINGLET_LEAST KINGLET_ONE("smull", 31, 5)          \
  KINGLET_NUMBER(29, 6) KINGLET_NUMBER(30, 7) KINGLET_NUMBER(31, 8)         \
  KINGLET_ADD_UP(26, 27) KINGLET_MOST KINGLET_OTHER("smull", 29, 6)         \
  KINGLET_ADD_UP(24, 25) KINGLET_ONE("smull", 30, 7)                        \
  KINGLET_STORE KINGLET_NEXT KINGLET_NUMBER(29, 0) KINGLET_NUMBER(30, 1)    \
  KINGLET_ADD_UP(26, 27) KINGLET_OTHER("smull", 31, 8)                      \
  KINGLET_ADD_UP(24, 25) KINGLET_ONE("smull", 30, 1)                        \
  KINGLET_ADD_UP(26, 27) KINGLET_OTHER("smull", 29, 0)                      \
  KINGLET_EACH(KINGLET_TO_FLOAT, 20, 21, 22, 23)                            \
  KINGLET_SCALE(20, 13) KINGLET_SCALE(21, 14) KINGLET_SCALE(22, 15) KINGLET_SCALE(23, 16) \
  KINGLET_EACH(KINGLET_TO_WHOLE, 20, 21, 22, 23)                            \
  "sqxtn v28.4h, v20.4s\n" "sqxtn v29.4h, v22.4s\n"                         \
  "sqxtn2 v28.8h, v21.4s\n" "sqxtn2 v29.8h, v23.4s\n"                       \
  "b.ne 1b\n"

// clang-format on

// Reads four numbers of an output more than there are (kReadBehind).
template <bool kFits>
void multiply(const Product& of) {
  Product left = of;
  const std::int8_t* const column0 = of.columns;
  const std::int8_t* const column1 = column0 + of.tap_step;
  const std::int8_t* const column2 = column1 + of.tap_step;
  std::size_t at = 0;  // the output's columns
  std::size_t move = 0;
  asm volatile(
      // clang-format off
      "ld1 {v0.16b-v3.16b}, [%[weights]], #64\n"
      "ld1 {v4.16b-v7.16b}, [%[weights]], #64\n"
      "ld1 {v8.16b}, [%[weights]]\n"
      "ld1 {v9.4s-v12.4s}, [%[bias]]\n"
      "ld1 {v13.4s-v16.4s}, [%[factors]]\n"
      "ld1 {v17.16b-v19.16b}, [%[bounds]]\n"
      ".if %c[fits]\n"
      KINGLET_BY_TWO
      ".else\n"
      KINGLET_BY_ONE
      ".endif\n"
      KINGLET_ADD_ZERO KINGLET_NARROW KINGLET_NARROW_2 KINGLET_LEAST KINGLET_MOST KINGLET_STORE
      // clang-format on
      : [weights] "+&r"(left.weights), [output] "+&r"(left.output), [left] "+&r"(left.count), [at] "+&r"(at),
        [move] "+&r"(move)
      : [tap0] "r"(column0), [tap1] "r"(column0 + kBlock), [tap2] "r"(column0 + 2 * kBlock), [tap3] "r"(column1),
        [tap4] "r"(column1 + kBlock), [tap5] "r"(column1 + 2 * kBlock), [tap6] "r"(column2),
        [tap7] "r"(column2 + kBlock), [tap8] "r"(column2 + 2 * kBlock), [bias] "r"(of.bias), [factors] "r"(of.factors),
        [bounds] "r"(of.bounds), [column_step] "r"(of.column_step), [output_step] "r"(of.output_step), [fits] "i"(kFits)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
        "v31");
}

}  // namespace

constexpr Form kNeonInOrder{.group = 1, .weave = weave_three_rows, .multiply = multiply<true>};
constexpr Form kNeonInOrderWide{.group = 1, .weave = weave_three_rows, .multiply = multiply<false>};

}  // namespace kinglet::engine::kernels::columns
#endif
