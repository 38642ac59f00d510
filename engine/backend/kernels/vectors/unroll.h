// SPDX-License-Identifier: Apache-2.0
// Why: loops over arrays that are to be registers have to be unrolled as a whole, which each compiler is told its way.
#pragma once

#if defined(__clang__)
#define KINGLET_UNROLL _Pragma("unroll")
#else
#define KINGLET_UNROLL _Pragma("GCC unroll 32")
#endif
