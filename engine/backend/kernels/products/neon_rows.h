// SPDX-License-Identifier: Apache-2.0
// Why: four rows of a product and their sums, as both of ARM's forms read and begin them, as text of assembly.
#pragma once

// clang-format off

// Numbers of each row into v0 to v3.
#define KINGLET_NUMBERS(kind, bytes)                                                                \
  "ldr " kind "0, [%[at0]], #" #bytes "\n" "ldr " kind "1, [%[at1]], #" #bytes "\n"                 \
  "ldr " kind "2, [%[at2]], #" #bytes "\n" "ldr " kind "3, [%[at3]], #" #bytes "\n"

// The bias into four registers of each row, v16 to v31; the rows from their beginning.
#define KINGLET_BEGIN_SUMS                                                                          \
  "ld1 {v16.4s-v19.4s}, [%[bias]]\n"                                                                \
  "ld1 {v20.4s-v23.4s}, [%[bias]]\n"                                                                \
  "ld1 {v24.4s-v27.4s}, [%[bias]]\n"                                                                \
  "ld1 {v28.4s-v31.4s}, [%[bias]], #64\n"                                                           \
  "mov %[at0], %[row0]\n" "mov %[at1], %[row1]\n" "mov %[at2], %[row2]\n" "mov %[at3], %[row3]\n"

// What these and the forms read and move on: `left`, a copy of the Product; `at`, places in its rows; `steps`, free.
#define KINGLET_MOVED(left, at, steps)                                                              \
  [weights] "+&r"(left.weights), [bias] "+&r"(left.bias), [factors] "+&r"(left.factors),            \
  [blocks] "+&r"(left.blocks), [output0] "+&r"(left.outputs[0]), [output1] "+&r"(left.outputs[1]),  \
  [output2] "+&r"(left.outputs[2]), [output3] "+&r"(left.outputs[3]), [at0] "=&r"(at[0]),           \
  [at1] "=&r"(at[1]), [at2] "=&r"(at[2]), [at3] "=&r"(at[3]), [steps] "=&r"(steps)

// clang-format on
