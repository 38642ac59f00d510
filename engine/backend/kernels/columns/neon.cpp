// SPDX-License-Identifier: Apache-2.0
// Why: the form of the kernel of depthwise columns for any of ARM's 64-bit processors, windows of 3x3 alone: two
// products of a channel are added up in 16 bits before they become 32. Assembly, as in the other form.
#if defined(__aarch64__)
#include <array>

#include "engine/backend/kernels/columns/form.h"
#include "engine/backend/kernels/vectors/neon_levels.h"

namespace kinglet::engine::kernels::columns {
namespace {

// clang-format off

// Products of 16 channels, alone or added to those that are there.
#define KINGLET_PRODUCTS(op, number, factor)                                \
  op " v18.8h, v" #number ".8b, v" #factor ".8b\n"                          \
  op "2 v19.8h, v" #number ".16b, v" #factor ".16b\n"
#define KINGLET_ADD_UP                                                      \
  "saddw v20.4s, v20.4s, v18.4h\n"                                          \
  "saddw2 v21.4s, v21.4s, v18.8h\n"                                         \
  "saddw v22.4s, v22.4s, v19.4h\n"                                          \
  "saddw2 v23.4s, v23.4s, v19.8h\n"
#define KINGLET_TWO(n0, f0, n1, f1)                                         \
  KINGLET_PRODUCTS("smull", n0, f0)                                         \
  ".if %c[fits]\n" KINGLET_PRODUCTS("smlal", n1, f1)                       \
  ".else\n" KINGLET_ADD_UP KINGLET_PRODUCTS("smull", n1, f1) ".endif\n"     \
  KINGLET_ADD_UP

// clang-format on

}  // namespace

// Nothing is woven, but the rows of a column stand one behind the other, so that one load brings three.
void weave_three_rows(const Weave& of) {
  if (of.columns == 0) return;
  Weave left = of;
  asm volatile(
      // clang-format off
      "1:\n"
      "ld1 {v0.16b}, [%[row0]], %[step0]\n"
      "ld1 {v1.16b}, [%[row1]], %[step1]\n"
      "ld1 {v2.16b}, [%[row2]], %[step2]\n"
      "subs %[left], %[left], #1\n"
      "st1 {v0.16b-v2.16b}, [%[to]], #48\n"
      "b.ne 1b\n"
      // clang-format on
      : [row0] "+&r"(left.rows[0]), [row1] "+&r"(left.rows[1]), [row2] "+&r"(left.rows[2]), [to] "+&r"(left.to),
        [left] "+&r"(left.columns)
      : [step0] "r"(of.steps[0]), [step1] "r"(of.steps[1]), [step2] "r"(of.steps[2])
      : "cc", "memory", "v0", "v1", "v2");
}

namespace {

template <bool kFits>
void multiply(const Product& of) {
  Product left = of;
  std::array column{of.columns, of.columns + of.tap_step, of.columns + 2 * of.tap_step};
  asm volatile(
      // clang-format off
      "ld1 {v0.16b-v3.16b}, [%[weights]], #64\n"
      "ld1 {v4.16b-v7.16b}, [%[weights]], #64\n"
      "ld1 {v8.16b}, [%[weights]]\n"
      "ld1 {v28.16b-v30.16b}, [%[bounds]]\n"
      "1:\n"
      "ld1 {v20.4s-v23.4s}, [%[bias]]\n"
      "ld1 {v9.16b-v11.16b}, [%[column0]], %[column_step]\n"
      "ld1 {v12.16b-v14.16b}, [%[column1]], %[column_step]\n"
      "ld1 {v15.16b-v17.16b}, [%[column2]], %[column_step]\n"
      "subs %[left], %[left], #1\n"
      KINGLET_TWO(9, 0, 10, 1)
      KINGLET_TWO(11, 2, 12, 3)
      KINGLET_TWO(13, 4, 14, 5)
      KINGLET_TWO(15, 6, 16, 7)
      KINGLET_PRODUCTS("smull", 17, 8)
      KINGLET_ADD_UP
      "ld1 {v24.4s-v27.4s}, [%[factors]]\n"
      KINGLET_LEVELS(20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
      "st1 {v20.16b}, [%[output]], %[output_step]\n"
      "b.ne 1b\n"
      // clang-format on
      : [column0] "+&r"(column[0]), [column1] "+&r"(column[1]), [column2] "+&r"(column[2]),
        [weights] "+&r"(left.weights), [output] "+&r"(left.output), [left] "+&r"(left.count)
      : [bias] "r"(of.bias), [factors] "r"(of.factors), [bounds] "r"(of.bounds), [column_step] "r"(of.column_step),
        [output_step] "r"(of.output_step), [fits] "i"(kFits)
      : "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",
        "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30");
}

}  // namespace

constexpr Form kNeon{.group = 1, .weave = weave_three_rows, .multiply = multiply<true>};
constexpr Form kNeonWide{.group = 1, .weave = weave_three_rows, .multiply = multiply<false>};

}  // namespace kinglet::engine::kernels::columns
#endif
