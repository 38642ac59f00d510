// SPDX-License-Identifier: Apache-2.0
// Why: how sums of 8-bit convolutions become levels in ARM's forms of their kernels, as text of assembly.
#pragma once

// clang-format off

#define KINGLET_EACH(op, s0, s1, s2, s3) op(s0) op(s1) op(s2) op(s3)
#define KINGLET_TO_FLOAT(sum) "scvtf v" #sum ".4s, v" #sum ".4s\n"
#define KINGLET_TO_WHOLE(sum) "fcvtns v" #sum ".4s, v" #sum ".4s\n"
#define KINGLET_SCALE(sum, factor) "fmul v" #sum ".4s, v" #sum ".4s, v" #factor ".4s\n"

// Sixteen sums in `s0` to `s3` become levels as XNNPACK makes them, times a factor (in `f0` to `f3`) in float and to
// the nearest even whole number; the level of zero and the bounds are in `zero`, `least`, `most`. Where %[fits] is not
// zero, whole numbers have room in 16 bits.
#define KINGLET_LEVELS(s0, s1, s2, s3, f0, f1, f2, f3, zero, least, most)             \
  KINGLET_EACH(KINGLET_TO_FLOAT, s0, s1, s2, s3)                                      \
  KINGLET_SCALE(s0, f0) KINGLET_SCALE(s1, f1) KINGLET_SCALE(s2, f2) KINGLET_SCALE(s3, f3) \
  KINGLET_EACH(KINGLET_TO_WHOLE, s0, s1, s2, s3)                                      \
  ".if %c[fits]\n"                                                                    \
  "uzp1 v" #s0 ".8h, v" #s0 ".8h, v" #s1 ".8h\n"                                      \
  "uzp1 v" #s2 ".8h, v" #s2 ".8h, v" #s3 ".8h\n"                                      \
  ".else\n"                                                                           \
  "sqxtn v" #s0 ".4h, v" #s0 ".4s\n"                                                  \
  "sqxtn v" #s2 ".4h, v" #s2 ".4s\n"                                                  \
  "sqxtn2 v" #s0 ".8h, v" #s1 ".4s\n"                                                 \
  "sqxtn2 v" #s2 ".8h, v" #s3 ".4s\n"                                                 \
  ".endif\n"                                                                          \
  "sqadd v" #s0 ".8h, v" #s0 ".8h, v" #zero ".8h\n"                                   \
  "sqadd v" #s2 ".8h, v" #s2 ".8h, v" #zero ".8h\n"                                   \
  "sqxtn v" #s0 ".8b, v" #s0 ".8h\n"                                                  \
  "sqxtn2 v" #s0 ".16b, v" #s2 ".8h\n"                                                \
  "smax v" #s0 ".16b, v" #s0 ".16b, v" #least ".16b\n"                                \
  "smin v" #s0 ".16b, v" #s0 ".16b, v" #most ".16b\n"

// clang-format on
